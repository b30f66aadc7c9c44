// SPDX-License-Identifier: Apache-2.0
/* `hops N`: N calls deep, each in the next of five shared objects (hop.c); then busy for ever. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { OBJECTS = 5, HOPS_MAX = 100 };

typedef unsigned long hop(unsigned long depth, void **hops);

hop hop_0, hop_1, hop_2, hop_3, hop_4;

__attribute__((noipa)) static unsigned long leaf(unsigned long depth, void **hops)
{
	volatile unsigned long sink = depth;

	(void)hops;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready\n");
	fflush(stdout);
	for (;;)
		sink++;
	return sink;
}

int main(int argc, char **argv)
{
	static hop *const all[OBJECTS] = { hop_0, hop_1, hop_2, hop_3, hop_4 };
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : HOPS_MAX;
	void *hops[HOPS_MAX + 1];
	hop *first;

	if (count >= HOPS_MAX)
		return 2;
	for (unsigned long i = 0; i < count; i++)
		hops[i] = (void *)all[i % OBJECTS];
	hops[count] = (void *)leaf;
	first = (hop *)hops[0];
	return (int)first(0, hops) + 1;
}
