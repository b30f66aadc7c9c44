/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A re-aligned stack: the CFA is read from the stack, by an expression in the unwind table.
 *
 * chain: START main > outer (aligned|aligned_arguments) leaf
 */
#include "target.h"

FRAME unsigned long leaf(volatile unsigned long *values)
{
	values[1] = values[0] + 1;
	return values[1] + work(20);
}

FRAME __attribute__((force_align_arg_pointer)) unsigned long aligned(unsigned long n)
{
	volatile unsigned long values[8] __attribute__((aligned(128)));

	values[0] = n;
	if ((unsigned long)values & 127)
		abort();
	return leaf(values) + values[0];
}

/* Arguments on the stack: -mforce-drap makes the compiler keep their address in r10. */
FRAME __attribute__((force_align_arg_pointer)) unsigned long
aligned_arguments(unsigned long a, unsigned long b, unsigned long c, unsigned long d,
		  unsigned long e, unsigned long f, unsigned long g, unsigned long h)
{
	volatile unsigned long values[8] __attribute__((aligned(128)));

	values[0] = a + b + c + d + e + f + g + h;
	if ((unsigned long)values & 127)
		abort();
	return leaf(values) + values[0] + h;
}

FRAME unsigned long outer(unsigned long n)
{
	return aligned(n) + aligned_arguments(n, 1, 2, 3, 4, 5, 6, 7);
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (unsigned long n = 0;; n++)
		sink += outer(n);
}
