/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Probabilistic profiling: for each interval a number 0..99 is drawn, and sampling is on for the interval if
 * the threshold is above it. In a fleet a share of the hosts samples at a time, each at its full rate. This
 * only decides; the caller switches the events.
 */
#ifndef AGENT_PROBABILISTIC_H
#define AGENT_PROBABILISTIC_H

#include <stdbool.h>
#include <stdint.h>

struct probabilistic {
	/** 1..100; 100: always on. */
	uint32_t threshold;
	uint64_t interval_ns;
	/** State of the generator, splitmix64. */
	uint64_t random_state;
	uint64_t next_draw_ns;
	bool is_on;
};

/** If @seed is NULL, the kernel provides one. The first draw is due at once. */
void probabilistic_init(struct probabilistic *probabilistic, uint32_t threshold,
			uint64_t interval_ns, const uint64_t *seed);

/**
 * Draws if an interval is over at @now_ns (CLOCK_MONOTONIC). True if that turned sampling on or
 * off: then is_on has changed. The first call always returns true.
 */
bool probabilistic_tick(struct probabilistic *probabilistic, uint64_t now_ns);

#endif
