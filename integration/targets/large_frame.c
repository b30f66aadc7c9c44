/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that ends after @argv[1] ms of CPU time, in a function called by one with a frame of 33 KiB, in the main thread or, with a
 * second argument, in another one.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "target.h"

enum { LARGE_BYTES = 33 << 10 };

static clockid_t clock_id = CLOCK_PROCESS_CPUTIME_ID;
static long milliseconds;

FRAME unsigned long spin(volatile unsigned char *bytes)
{
	struct timespec now;
	unsigned long sum = 0;

	do {
		sum += work(20) + bytes[0];
		clock_gettime(clock_id, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
	return sum;
}

FRAME unsigned long large(void)
{
	volatile unsigned char bytes[LARGE_BYTES];

	bytes[0] = 1;
	bytes[LARGE_BYTES - 1] = 2;
	return spin(bytes) + bytes[LARGE_BYTES - 1];
}

static void *run(void *unused)
{
	volatile unsigned long sink;

	(void)unused;
	sink = large();
	(void)sink;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	milliseconds = argc > 1 ? atol(argv[1]) : 20;
	if (argc < 3)
		run(NULL);
	else if (!pthread_create(&thread, NULL, run, NULL))
		pthread_join(thread, NULL);
	return 0;
}
