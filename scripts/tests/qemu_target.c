// SPDX-License-Identifier: Apache-2.0
/*
 * The program that the virtual machine of qemu_test.py profiles: chains of calls that the source fixes.
 *
 *	qemu_target calls|deep|system_calls
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	DEPTH = 550,
};

static volatile unsigned long sink;

/* Keeps the compiler from making a tail call, a loop or an inlined copy. */
#define KEEP __attribute__((noinline, noclone))
#define AFTER_CALL() __asm__ volatile("" ::: "memory")

KEEP void leaf(void);
KEEP void inner(void);
KEEP void outer(void);
KEEP void deep(int depth);
KEEP void enter_kernel(void);

void leaf(void)
{
	for (int i = 0; i < 10000; i++)
		sink += i;
}

void inner(void)
{
	char room[200];

	memset(room, (int)sink, sizeof(room));
	leaf();
	sink += room[sink % sizeof(room)];
	AFTER_CALL();
}

void outer(void)
{
	inner();
	AFTER_CALL();
}

void deep(int depth)
{
	if (depth == 0)
		leaf();
	else
		deep(depth - 1);
	AFTER_CALL();
}

void enter_kernel(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	AFTER_CALL();
}

int main(int argument_count, char **arguments)
{
	/* Compared once: the loop below is to call nothing else. */
	const char *mode = argument_count > 1 ? arguments[1] : "calls";
	int is_deep = !strcmp(mode, "deep"), is_system_calls = !strcmp(mode, "system_calls");

	for (;;) {
		if (is_deep)
			deep(DEPTH);
		else if (is_system_calls)
			enter_kernel();
		else
			outer();
	}
}
