/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion deeper than a walk can go: what is kept is the leaf's side.
 *
 * chain: START main recurse{0,3580}
 * chain: (\[truncated\]) recurse{3400,3600} bottom?
 */
#include "target.h"

enum { DEPTH = 3800 };

FRAME unsigned long bottom(unsigned long n)
{
	return n + work(1000000);
}

FRAME unsigned long recurse(unsigned long depth)
{
	if (depth == DEPTH)
		return bottom(depth);
	return recurse(depth + 1) + depth;
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (;;)
		sink += recurse(1);
}
