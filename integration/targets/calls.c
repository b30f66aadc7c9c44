/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain calls: leaves without a frame, with a large one, and with every callee-saved register on
 * the stack, so that samples hit prologues and epilogues of all kinds.
 *
 * chain: START main > outer middle (leaf_plain|leaf_frame|leaf_saved)
 */
#include "target.h"

FRAME unsigned long leaf_plain(unsigned long n)
{
	return n + work(20);
}

FRAME unsigned long leaf_frame(unsigned long n)
{
	volatile unsigned char bytes[400];

	for (unsigned int i = 0; i < 16; i++)
		bytes[i * 20] = n + i;
	return bytes[n % 16 * 20];
}

FRAME unsigned long leaf_saved(unsigned long n)
{
	work(5);
	USE_SAVED_REGISTERS();
	return n;
}

FRAME unsigned long middle(unsigned long n)
{
	unsigned long sum = leaf_plain(n) + leaf_frame(n);

	return sum + leaf_saved(n);
}

FRAME unsigned long outer(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 8; i++)
		sum += middle(n + i);
	return sum;
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (;;)
		sink += outer(sink);
}
