/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of clocks. No clock_gettime() here can fail on Linux. */

#include "lib/base/clock.h"

enum { OFFSET_TRIES = 10, OFFSET_NEAR_NS = 100000 };

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

struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_SECOND),
		.tv_nsec = (long)(ns % NS_PER_SECOND),
	};
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_realtime_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

int64_t clock_realtime_offset_ns(void)
{
	uint64_t least_ns = UINT64_MAX;
	int64_t offset_ns = 0;

	for (int i = 0; i < OFFSET_TRIES && least_ns > OFFSET_NEAR_NS; i++) {
		uint64_t before_ns = clock_monotonic_ns();
		int64_t realtime_ns = (int64_t)clock_realtime_ns();
		uint64_t between_ns = clock_monotonic_ns() - before_ns;

		if (between_ns < least_ns) {
			least_ns = between_ns;
			offset_ns = realtime_ns - (int64_t)before_ns;
		}
	}
	return offset_ns;
}
