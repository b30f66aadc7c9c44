// SPDX-License-Identifier: Apache-2.0
/*
 * `depth N [read]`: N calls deep in eight functions of one program, whose frames and unwind rules
 * differ; then busy for ever, or with `read` in a system call for ever.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int is_reader;

__attribute__((noipa)) static unsigned long leaf(unsigned long n)
{
	static char bytes[1 << 20];
	int zero = open("/dev/zero", O_RDONLY);
	volatile unsigned long sink = n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready\n");
	fflush(stdout);
	while (is_reader)
		if (read(zero, bytes, sizeof(bytes)) < 0)
			abort();
	for (;;)
		sink++;
	return sink;
}

unsigned long call_0(unsigned long n);
unsigned long call_1(unsigned long n);
unsigned long call_2(unsigned long n);
unsigned long call_3(unsigned long n);
unsigned long call_4(unsigned long n);
unsigned long call_5(unsigned long n);
unsigned long call_6(unsigned long n);
unsigned long call_7(unsigned long n);

/* A frame of BYTES bytes and some more. */
#define CALL(number, next, BYTES)                                                                  \
	__attribute__((noipa)) unsigned long call_##number(unsigned long n)                        \
	{                                                                                          \
		volatile unsigned char frame[BYTES];                                               \
                                                                                                   \
		frame[0] = n;                                                                      \
		n = n > 1 ? call_##next(n - 1) : leaf(n);                                          \
		return n + frame[0];                                                               \
	}

CALL(0, 1, 8)
CALL(1, 2, 40)
CALL(2, 3, 24)
CALL(3, 4, 72)
CALL(4, 5, 8)
CALL(5, 6, 104)
CALL(6, 7, 56)
CALL(7, 0, 136)

int main(int argc, char **argv)
{
	is_reader = argc > 2 && !strcmp(argv[2], "read");
	return argc > 1 ? (int)call_0(strtoul(argv[1], NULL, 10)) : 2;
}
