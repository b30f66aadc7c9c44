/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion deeper than the limit of an unwind, which keeps the frames at the leaf. While the stack
 * grows, it is at first only slightly too deep, so that only the start is cut.
 *
 * chain: START main recurse{0,3580}
 * chain: (\[truncated\]) (__libc_start_main|__libc_start_main_impl|libc\.so\.6\+0x[0-9a-f]+)? (__libc_start_call_main|libc\.so\.6\+0x[0-9a-f]+)? main? recurse{3400,3600} bottom?
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
