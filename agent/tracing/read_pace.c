/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/read_pace.h"

#include "lib/base/clock.h"

enum {
	/* A function missed now and then is not worth it: one in so many samples. */
	GONE_SHARE = 50,
};

#define LOOK_NS (100 * NS_PER_MS)
/* It may be the hurry that none is missed. */
#define HURRY_NS (10 * NS_PER_SECOND)

int read_pace_interval(struct read_pace *pace, uint64_t gone_count, uint64_t sample_count,
		       uint64_t now_ns)
{
	if (now_ns >= pace->next_look_ns) {
		if ((gone_count - pace->gone_count) * GONE_SHARE >
		    sample_count - pace->sample_count)
			pace->hurry_until_ns = now_ns + HURRY_NS;
		pace->gone_count = gone_count;
		pace->sample_count = sample_count;
		pace->next_look_ns = now_ns + LOOK_NS;
	}
	return now_ns < pace->hurry_until_ns ? READ_HURRY_INTERVAL_MS : READ_INTERVAL_MS;
}
