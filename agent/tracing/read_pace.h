/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interval at which the ring of samples is read. A tenth of a second is fine, unless interpreted functions
 * are freed before they are named, or stacks are cut off because files were replaced by other mappings, which
 * the kernel side must learn soon. As long as that goes on, the ring is read far more often. Owned by the ring
 * thread.
 */
#ifndef AGENT_TRACING_READ_PACE_H
#define AGENT_TRACING_READ_PACE_H

#include <stdint.h>

enum {
	READ_INTERVAL_MS = 100,
	READ_HURRY_INTERVAL_MS = 4,
};

/** All bytes zero at first. */
struct read_pace {
	uint64_t next_look_ns;
	uint64_t hurry_until_ns;
	/** Counts at the last check. */
	uint64_t gone_count;
	uint64_t sample_count;
};

/**
 * Milliseconds until the next read of the ring. @gone_count: interpreted functions that were freed before they
 * were named, and stacks that were cut off; @sample_count: samples read; both since the start.
 */
int read_pace_interval(struct read_pace *pace, uint64_t gone_count, uint64_t sample_count,
		       uint64_t now_ns);

#endif
