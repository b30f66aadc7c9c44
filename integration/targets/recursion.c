/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion, 500 calls deep; most of the time is spent at the bottom.
 *
 * chain: START main recurse{0,500}
 * chain: START main recurse{500} bottom
 */
#include "target.h"

FRAME unsigned long bottom(unsigned long n)
{
	return n + work(200000);
}

FRAME unsigned long recurse(unsigned long depth)
{
	if (depth == 500)
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
