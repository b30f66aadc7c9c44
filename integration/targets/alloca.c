/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame whose size is known at run time only: the CFA hangs on the frame pointer.
 *
 * chain: START main > outer varying leaf
 */
#include <alloca.h>

#include "target.h"

FRAME unsigned long leaf(volatile unsigned char *bytes, unsigned long count)
{
	bytes[0] = 1;
	bytes[count - 1] = 2;
	return bytes[0] + work(20);
}

FRAME unsigned long varying(unsigned long count)
{
	unsigned char *bytes = alloca(count);
	unsigned long sum = leaf(bytes, count);

	if (count % 3 == 0) {
		unsigned char *more = alloca(count * 2);

		sum += leaf(more, count * 2);
	}
	return sum;
}

FRAME unsigned long outer(unsigned long n)
{
	unsigned long sum = varying(n % 900 + 16);

	return sum + varying(n % 50 + 16);
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (unsigned long n = 0;; n++)
		sink += outer(n);
}
