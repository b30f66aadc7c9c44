/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of clocks. No clock_gettime() here can fail on Linux. */

#include "agent/base/clock.h"

#include <time.h>

static uint64_t clock_read_ns(clockid_t id)
{
	struct timespec time;

	clock_gettime(id, &time);
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_realtime_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}
