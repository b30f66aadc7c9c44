/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `short_program MS main|thread|mapped`: ends after MS milliseconds of CPU time.
 * main, thread: they pass in a function that one with a frame of 33 KiB has called, most of whose pages nobody has written.
 * mapped: they pass in code that has just been mapped, a second time, again and again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "target.h"

enum {
	LARGE_BYTES = 33 << 10,
	/* Some milliseconds. */
	MAPPED_ROUNDS = 1 << 23,
};

extern const char __executable_start;

static long milliseconds;

static int has_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds;
}

FRAME unsigned long spin(volatile unsigned char *bytes)
{
	unsigned long sum = 0;

	do {
		sum += work(20000) + bytes[0];
	} while (has_time());
	return sum;
}

FRAME unsigned long large(void)
{
	volatile unsigned char bytes[LARGE_BYTES];

	bytes[0] = 1;
	bytes[LARGE_BYTES - 1] = 2;
	return spin(bytes) + bytes[LARGE_BYTES - 1];
}

static void *run_large(void *unused)
{
	volatile unsigned long sink = large();

	(void)unused;
	(void)sink;
	return NULL;
}

/* It needs nothing but its registers, so it can run at any address. */
FRAME unsigned long spin_mapped(unsigned long rounds)
{
	return work(rounds);
}

FRAME unsigned long run_mapped(int fd)
{
	unsigned long page = sysconf(_SC_PAGESIZE), sum = 0;
	unsigned long offset = (unsigned long)&spin_mapped - (unsigned long)&__executable_start;
	unsigned long (*function)(unsigned long);
	char *code;

	while (has_time()) {
		/* Two pages, in case the function is at the end of one. Each mapping is at another address. */
		code = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    (off_t)(offset / page * page));
		if (code == MAP_FAILED)
			exit(1);
		code += offset % page;
		memcpy(&function, &code, sizeof(function));
		sum += function(MAPPED_ROUNDS);
	}
	return sum;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	milliseconds = atol(argv[1]);
	if (!strcmp(argv[2], "mapped"))
		return run_mapped(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)) == 0;
	if (!strcmp(argv[2], "main"))
		run_large(NULL);
	else if (!pthread_create(&thread, NULL, run_large, NULL))
		pthread_join(thread, NULL);
	return 0;
}
