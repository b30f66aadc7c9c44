/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/monotonic_condition.h"

#include <errno.h>
#include <time.h>

#include "lib/base/clock.h"

int monotonic_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int err = pthread_condattr_init(&attributes);

	if (err)
		return -err;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	err = pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return -err;
}

bool monotonic_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = clock_timespec(until_ns);

	return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}
