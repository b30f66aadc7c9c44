/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion on a stack of many segments (-fsplit-stack), each made by __morestack when the previous
 * one is full. Segments can be above or below each other.
 *
 * chain: START (main(;__morestack)?) > (recurse(;__morestack)?){0,120} ((?!bottom|recurse)[^;]+){0,4}
 * chain: START (main(;__morestack)?) (recurse(;__morestack)?){120} (bottom(;__morestack)?) > ANY{0,4}
 */
#include "target.h"

enum { DEPTH = 120 };

FRAME unsigned long bottom(unsigned long n)
{
	return n + work(200000);
}

FRAME unsigned long recurse(unsigned long depth)
{
	volatile unsigned char frame[3000];

	frame[0] = depth;
	if (depth == DEPTH)
		return bottom(depth) + frame[0];
	return recurse(depth + 1) + frame[0];
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (;;)
		sink += recurse(1);
}
