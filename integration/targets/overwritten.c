/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in which a function has overwritten its return address, and does not return: overwritten KIND. Its stack cannot
 * be unwound, and must not look as if it could.
 */
#include "target.h"

#include <stdio.h>
#include <string.h>

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(200);
}

FRAME void other(void)
{
	if (write(2, "", 0))
		abort();
	NO_TAIL_CALL();
}

static unsigned long wrong_address(const char *kind)
{
	static const char data[64];

	if (!strcmp(kind, "start"))
		return (unsigned long)other;
	/* Behind an instruction that does not call, in code that calls a function later. */
	if (!strcmp(kind, "middle"))
		return (unsigned long)other + 1;
	if (!strcmp(kind, "library"))
		return (unsigned long)abort + 1;
	if (!strcmp(kind, "data"))
		return (unsigned long)data;
	return 0x4141414141414141;
}

FRAME void victim(const char *kind)
{
	volatile unsigned long sink = 0;

	((volatile unsigned long *)__builtin_frame_address(0))[1] = wrong_address(kind);
	target_ready();
	for (;;)
		sink += leaf(sink);
}

int main(int argc, char **argv)
{
	victim(argc > 1 ? argv[1] : "");
	return 0;
}
