/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that realign their stack and keep their caller's stack pointer in a register. The compiler moves
 * arithmetic behind the instruction that restores the frame pointer, where the unwind table still says that the
 * caller's is in memory. One caller has a number in the register, which is no address; the other a frame pointer,
 * whose own caller's is in memory.
 *
 * chain: START main > by_number aligned use
 * chain: START main > by_frame aligned use
 */
#include "target.h"

typedef float vector __attribute__((vector_size(32)));

enum { VECTORS = 4, LANES = 8 };

/* Not FRAME: the compiler knows which registers it leaves alone, and does not save them. */
__attribute__((noinline)) void use(vector *values)
{
	*values = *values * 1.0001f + 1;
}

FRAME float aligned(int n)
{
	vector values[VECTORS];
	char room[n % 64 + 8];
	float sum = 0;

	for (int i = 0; i < VECTORS; i++)
		for (int lane = 0; lane < LANES; lane++)
			values[i][lane] = n + lane;
	for (int i = 0; i < VECTORS; i++)
		use(&values[i]);
	room[n % 8] = n;
	for (int lane = 0; lane < LANES; lane++)
		sum += values[lane % VECTORS][lane] + room[0];
	return sum;
}

FRAME float by_number(int n)
{
	register unsigned long number __asm__("rbp") = n;
	float sum;

	__asm__ volatile("" : "+r"(number));
	sum = aligned(n);
	__asm__ volatile("" : "+r"(number));
	return sum + number;
}

FRAME __attribute__((optimize("no-omit-frame-pointer"))) float by_frame(int n)
{
	volatile char room[n % 64 + 1];

	room[0] = n;
	return aligned(n) + room[0];
}

FRAME __attribute__((optimize("no-omit-frame-pointer"))) int main(void)
{
	volatile float sink = 0;

	target_ready();
	for (int n = 0;; n = (n + 1) & 63)
		sink = by_number(n) + by_frame(n);
}
