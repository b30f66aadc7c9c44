/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread has ended; another thread continues.
 *
 * chain: THREAD > worker leaf
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "target.h"

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(50);
}

/* Waits until the main thread is a zombie: while it exits it still has stacks. */
static void wait_for_leader(void)
{
	char text[256] = "";
	const char *state;

	do {
		FILE *file = fopen("/proc/self/stat", "r");

		if (!file || !fgets(text, sizeof(text), file))
			abort();
		fclose(file);
		state = strrchr(text, ')');
	} while (!state || state[2] != 'Z');
}

FRAME void *worker(void *argument)
{
	volatile unsigned long sink = 0;

	wait_for_leader();
	target_ready();
	for (;;)
		sink += leaf(sink);
	return argument;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, worker, NULL))
		abort();
	pthread_exit(NULL);
}
