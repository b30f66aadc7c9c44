/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/slow_close.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

enum { STACK_BYTES = 128 << 10 };

/* Atomic: of threads that have not come back. */
static int hanging_count;

bool slow_close_is_stuck(void)
{
	return __atomic_load_n(&hanging_count, __ATOMIC_RELAXED) >= SLOW_CLOSE_MAX;
}

static void *run_close(void *argument)
{
	close((int)(intptr_t)argument);
	__atomic_sub_fetch(&hanging_count, 1, __ATOMIC_RELAXED);
	return NULL;
}

static bool start_thread(int fd)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int err;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attributes, run_close, (void *)(intptr_t)fd);
	pthread_attr_destroy(&attributes);
	return !err;
}

void slow_close(int fd)
{
	if (__atomic_fetch_add(&hanging_count, 1, __ATOMIC_RELAXED) >= SLOW_CLOSE_MAX ||
	    !start_thread(fd))
		__atomic_sub_fetch(&hanging_count, 1, __ATOMIC_RELAXED);
}
