/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of every size: leaf functions that leave the return address in the link register, with
 * and without a stack of their own, fixed frames that are larger than an immediate, dynamic ones,
 * and deep recursion. Each function works before and after its calls.
 *
 * chain: START main > deep{1,41} (large|dynamic)? (leaf|leaf_with_stack)
 * chain: START main > ready? __libc_write
 */
#include <alloca.h>
#include <stdlib.h>

#include "ready.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { DEPTH = 40, LARGE_BYTES = 70000 };

static NOINLINE unsigned leaf(unsigned value)
{
	for (int i = 0; i < 200; i++)
		value = value * 1103515245 + 12345;
	return value;
}

static NOINLINE unsigned leaf_with_stack(unsigned value)
{
	volatile unsigned table[64];

	for (int i = 0; i < 64; i++)
		table[i] = value + i;
	for (int i = 0; i < 64; i++)
		value += table[value % 64];
	return value;
}

static NOINLINE unsigned large(unsigned value)
{
	volatile char bytes[LARGE_BYTES];

	for (int i = 0; i < LARGE_BYTES; i += 512)
		bytes[i] = value;
	value = leaf(value + bytes[512]);
	return value + bytes[1024];
}

static NOINLINE unsigned dynamic(unsigned value)
{
	volatile char *bytes = alloca(value % 1000 + 16);

	bytes[value % 16] = value;
	value = leaf(value) + leaf_with_stack(value);
	return value + bytes[3];
}

static NOINLINE unsigned deep(unsigned depth, unsigned value)
{
	if (!depth)
		return leaf(value) + leaf_with_stack(value) + large(value) + dynamic(value);
	value += deep(depth - 1, value + depth);
	if (depth % 8 == 0)
		value += leaf(value);
	return value ^ depth;
}

int main(int argc, char **argv)
{
	unsigned value = argc;

	ready(argv[1]);
	for (;;)
		for (unsigned depth = 0; depth <= DEPTH; depth++)
			value += deep(depth, value);
	return value & 1;
}
