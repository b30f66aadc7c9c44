// SPDX-License-Identifier: Apache-2.0
/*
 * A program of known costs in known functions, for weight_test.py: `weight_target WHAT COUNT`. Each runs in two parts, with a
 * pause between them, and the pages of the program are touched before it prints "ready".
 *
 *	faults PAGES	touch_pages() computes and touches so many new pages, then only_compute() computes as long
 *	runs COUNT	give_way() computes and sleeps so often, then only_compute() computes as long
 *	time MS		first_part() computes for so long, then second_part() for three times as long
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BATCHES = 200, BATCH_US = 2500, SLICE_US = 1000, PAUSE_US = 700000 };

static uint64_t cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

__attribute__((noinline)) static void compute(uint64_t us)
{
	uint64_t end = cpu_us() + us;

	while (cpu_us() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* Nothing may be the last call of a function: its frame would be gone. */
#define KEEP_FRAME __asm__ volatile("" ::: "memory")

__attribute__((noinline)) static void touch_pages(int count)
{
	size_t bytes = (size_t)count * PAGE;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, bytes, MADV_NOHUGEPAGE))
		exit(1);
	for (int batch = 0; batch < BATCHES; batch++) {
		for (int i = batch; i < count; i += BATCHES)
			pages[(size_t)i * PAGE] = 1;
		compute(BATCH_US);
	}
	KEEP_FRAME;
}

__attribute__((noinline)) static void give_way(int count)
{
	for (int i = 0; i < count; i++) {
		compute(SLICE_US);
		usleep(200);
	}
	KEEP_FRAME;
}

__attribute__((noinline)) static void only_compute(uint64_t us)
{
	compute(us);
	KEEP_FRAME;
}

__attribute__((noinline)) static void first_part(uint64_t us)
{
	compute(us);
	KEEP_FRAME;
}

__attribute__((noinline)) static void second_part(uint64_t us)
{
	compute(us);
	KEEP_FRAME;
}

int main(int argument_count, char **arguments)
{
	const char *what = argument_count == 3 ? arguments[1] : "";
	int count = argument_count == 3 ? atoi(arguments[2]) : 0;

	puts("ready");
	fflush(stdout);
	usleep(PAUSE_US);
	if (!strcmp(what, "faults")) {
		touch_pages(count);
		usleep(PAUSE_US);
		only_compute((uint64_t)BATCHES * BATCH_US);
	} else if (!strcmp(what, "runs")) {
		give_way(count);
		usleep(PAUSE_US);
		only_compute((uint64_t)count * SLICE_US);
	} else if (!strcmp(what, "time")) {
		first_part((uint64_t)count * 1000);
		usleep(PAUSE_US);
		second_part((uint64_t)count * 3000);
	} else {
		return 2;
	}
	return 0;
}
