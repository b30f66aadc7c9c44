/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain that leads through five shared objects, six times (hop.c; bench/ uses it too).
 *
 * chain: START main > outer @plt
 * chain: START main outer (hop_0;hop_1;hop_2;hop_3;hop_4){0,5} > hop_0 hop_1 hop_2 hop_3 hop_4
 * chain: START main outer (hop_0;hop_1;hop_2;hop_3;hop_4){6} leaf
 */
#include "target.h"

typedef unsigned long hop(unsigned long depth, void **hops);

hop hop_0, hop_1, hop_2, hop_3, hop_4;
hop leaf;

FRAME unsigned long leaf(unsigned long depth, void **hops)
{
	(void)hops;
	return depth + work(2000);
}

FRAME unsigned long outer(void **hops)
{
	return hop_0(0, hops) + 1;
}

int main(void)
{
	/* hop_N goes on to element depth + 1; 30 frames in all, then the leaf. */
	void *hops[31];
	hop *all[] = { hop_0, hop_1, hop_2, hop_3, hop_4 };
	volatile unsigned long sink = 0;

	for (unsigned int i = 0; i < 30; i++)
		hops[i] = (void *)all[i % 5];
	hops[30] = (void *)leaf;
	target_ready();
	for (;;)
		sink += outer(hops);
}
