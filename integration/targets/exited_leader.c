/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread has ended, another one goes on.
 *
 * chain: THREAD > worker leaf
 */
#include <pthread.h>

#include "target.h"

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(50);
}

FRAME void *worker(void *argument)
{
	volatile unsigned long sink = 0;

	/* Is told to the thread that asked for it, so the leader's own goes with it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		sink += leaf(sink);
	return argument;
}

int main(void)
{
	pthread_t thread;

	target_ready();
	if (pthread_create(&thread, NULL, worker, NULL))
		abort();
	pthread_exit(NULL);
}
