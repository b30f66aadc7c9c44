/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, whose stacks end in the C library's clone.
 *
 * chain: THREAD > worker (leaf_one|leaf_two)
 * chain: START main > JOIN
 */
#include <pthread.h>

#include "target.h"

FRAME unsigned long leaf_one(unsigned long n)
{
	return n + work(50);
}

FRAME unsigned long leaf_two(unsigned long n)
{
	return n + work(50);
}

FRAME void *worker(void *argument)
{
	volatile unsigned long sink = 0;

	for (;;)
		sink += leaf_one(sink) + leaf_two(sink);
	return argument;
}

int main(void)
{
	pthread_t thread;

	for (unsigned int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, worker, NULL))
			abort();
	usleep(10000);
	target_ready();
	pthread_join(thread, NULL);
	return 1;
}
