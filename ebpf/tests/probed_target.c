// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program under a uprobe of its own, on each call or on each return: for uprobes_test.py.
 *
 *	probed_target call|return
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	DEPTH = 3,
};

static volatile unsigned long sink;
extern char __executable_start;

/* Keeps the compiler from making a tail call, a loop or an inlined copy. */
#define KEEP __attribute__((noinline, noclone))
#define AFTER_CALL() __asm__ volatile("" ::: "memory")

KEEP void leaf(void);
KEEP void probed(int depth);
KEEP void outer(void);

void leaf(void)
{
	for (int i = 0; i < 20000; i++)
		sink += i;
}

void probed(int depth)
{
	if (depth)
		probed(depth - 1);
	else
		leaf();
	AFTER_CALL();
}

void outer(void)
{
	probed(DEPTH);
	AFTER_CALL();
}

static int set_probe(int on_return)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attributes = { .size = sizeof(attributes), .config = on_return };
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	unsigned int type;

	if (!file || length < 0)
		return -1;
	if (fscanf(file, "%u", &type) != 1)
		type = 0;
	fclose(file);
	path[length] = '\0';
	attributes.type = type;
	attributes.config1 = (uintptr_t)path;
	/* The first segments of a program are mapped as they lie in the file. */
	attributes.config2 = (char *)probed - &__executable_start;
	return (int)syscall(SYS_perf_event_open, &attributes, getpid(), -1, -1, 0);
}

int main(int argument_count, char **arguments)
{
	if (set_probe(argument_count > 1 && !strcmp(arguments[1], "return")) < 0) {
		puts("no uprobe");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		outer();
}
