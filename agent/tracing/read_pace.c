/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/read_pace.h"

#include "lib/base/clock.h"

enum {
	/* The ring is read faster if at least one in this many samples has a missed function. */
	GONE_SHARE = 50,
};

#define LOOK_NS (100 * NS_PER_MS)
/* Fast reading continues for this time, since it may be the reason why no function is missed any more. */
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
