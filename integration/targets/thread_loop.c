/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that start and end: both sides of the C library's clone. At the end of its exit a thread
 * has no memory any more. The kernel's own unwinder does not get out of a retpoline's thunk.
 *
 * chain: THREAD > worker leaf
 * chain: (entry_SYSCALL.*_\[k\]) ANY* do_exit_\[k\] ANY*
 * chain: (\w*x86_indirect_thunk\w*_\[k\])
 * chain: CLONE ((?!worker|\[error)[^;?]+){0,10}
 * chain: START main > (create_once|join_once) ((?!worker|\[error)[^;?]+){0,10}
 */
#include <pthread.h>

#include "target.h"

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(20);
}

FRAME void *worker(void *argument)
{
	volatile unsigned long sink = 0;

	for (unsigned int i = 0; i < 10; i++)
		sink += leaf(sink);
	return argument;
}

FRAME void create_once(pthread_t *thread)
{
	if (pthread_create(thread, NULL, worker, NULL))
		abort();
}

FRAME void join_once(pthread_t thread)
{
	if (pthread_join(thread, NULL))
		abort();
}

int main(void)
{
	pthread_t thread;

	target_ready();
	for (;;) {
		create_once(&thread);
		join_once(thread);
	}
}
