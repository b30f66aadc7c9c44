/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code in several executable segments: the linker is told to put these sections far apart
 * (file_kinds_test.py).
 *
 * chain: START main > outer middle leaf
 */
#include "target.h"

#define IN(name) __attribute__((section(name)))

FRAME IN("far_one") unsigned long leaf(unsigned long n)
{
	volatile unsigned char bytes[200];

	bytes[n % 200] = n;
	return bytes[n % 200] + work(20);
}

FRAME IN("far_two") unsigned long middle(unsigned long n)
{
	USE_SAVED_REGISTERS();
	return leaf(n) + work(5);
}

FRAME unsigned long outer(unsigned long n)
{
	return middle(n) + work(5);
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (;;)
		sink += outer(sink);
}
