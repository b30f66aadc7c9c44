/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How long samples may lie in their ring. Nobody minds a tenth of a second, unless the functions of an
 * interpreter are freed before they are named, or stacks are cut off since files were mapped in the place of others, which the
 * kernel side is to know soon: then the ring is read far more often, as long as that goes on. Owned by the ring thread.
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
	/** What was counted at the last look. */
	uint64_t gone_count;
	uint64_t sample_count;
};

/**
 * Milliseconds until the ring is to be read again. @gone_count: interpreted functions that were gone
 * when they were to be named, and stacks that were cut off, @sample_count: samples read, both since the start.
 */
int read_pace_interval(struct read_pace *pace, uint64_t gone_count, uint64_t sample_count,
		       uint64_t now_ns);

#endif
