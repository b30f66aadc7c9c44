// SPDX-License-Identifier: Apache-2.0
/*
 * `depth N [read]`: N calls deep in eight functions of one program, whose frames and unwind rules
 * differ; then busy for ever, or with `read` in a system call for ever. With -DDIFFERENT there are 100
 * functions.
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
 * would push everything that an unwind touches out of the caches, and the unwind would be timed with it.
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

/* A frame of BYTES bytes and some more. */
#define CALL(number, next, BYTES)                                                                  \
	unsigned long call_##next(unsigned long n);                                                \
                                                                                                   \
	__attribute__((noipa)) unsigned long call_##number(unsigned long n)                        \
	{                                                                                          \
		volatile unsigned char frame[BYTES];                                               \
                                                                                                   \
		frame[0] = n;                                                                      \
		n = n > 1 ? call_##next(n - 1) : leaf(n);                                          \
		return n + frame[0];                                                               \
	}

#ifdef DIFFERENT
#define CALLS(tens, next)                                                                          \
	CALL(tens##0, tens##1, 8)                                                                  \
	CALL(tens##1, tens##2, 40)                                                                 \
	CALL(tens##2, tens##3, 24)                                                                 \
	CALL(tens##3, tens##4, 72)                                                                 \
	CALL(tens##4, tens##5, 8)                                                                  \
	CALL(tens##5, tens##6, 104)                                                                \
	CALL(tens##6, tens##7, 56)                                                                 \
	CALL(tens##7, tens##8, 136)                                                                \
	CALL(tens##8, tens##9, 24)                                                                 \
	CALL(tens##9, next##0, 40)

CALLS(, 1)
CALLS(1, 2)
CALLS(2, 3)
CALLS(3, 4)
CALLS(4, 5)
CALLS(5, 6)
CALLS(6, 7)
CALLS(7, 8)
CALLS(8, 9)
CALLS(9, )
#else
CALL(0, 1, 8)
CALL(1, 2, 40)
CALL(2, 3, 24)
CALL(3, 4, 72)
CALL(4, 5, 8)
CALL(5, 6, 104)
CALL(6, 7, 56)
CALL(7, 0, 136)
#endif

int main(int argc, char **argv)
{
	is_reader = argc > 2 && !strcmp(argv[2], "read");
	return argc > 1 ? (int)call_0(strtoul(argv[1], NULL, 10)) : 2;
}
