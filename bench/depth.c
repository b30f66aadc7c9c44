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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_PARTS = 256 };

static int is_reader;

/* readv() without the C library, whose frame in another file would be timed with the kernel's. */
static inline __attribute__((always_inline)) long read_parts(int fd, const struct iovec *parts)
{
#ifdef __x86_64__
	long result = SYS_readv;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)fd), "S"(parts), "d"((long)READ_PARTS)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long number __asm__("x8") = SYS_readv, result __asm__("x0") = fd;
	register const void *from __asm__("x1") = parts;
	register long count __asm__("x2") = READ_PARTS;

	__asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(from), "r"(count) : "memory");
	return result;
#endif
}

/*
 * In the kernel for a megabyte of zeros, all of which go to the same page: a buffer of that size
 * would push everything that a walk touches out of the caches, and the walk would be timed with it.
 */
static inline __attribute__((always_inline)) void read_zeros(int zero)
{
	static char page[4096];
	static struct iovec parts[READ_PARTS];

	for (int i = 0; i < READ_PARTS; i++)
		parts[i] = (struct iovec){ page, sizeof(page) };
	while (read_parts(zero, parts) > 0)
		;
	abort();
}

__attribute__((noipa)) static unsigned long leaf(unsigned long n)
{
	int zero = open("/dev/zero", O_RDONLY);
	volatile unsigned long sink = n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready\n");
	fflush(stdout);
	if (is_reader)
		read_zeros(zero);
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
