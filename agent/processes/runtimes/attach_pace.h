/* SPDX-License-Identifier: Apache-2.0 */
/** The pauses, which grow, before attaching again to a runtime that was not ready or that may have grown. */
#ifndef AGENT_PROCESSES_RUNTIMES_ATTACH_PACE_H
#define AGENT_PROCESSES_RUNTIMES_ATTACH_PACE_H

#include <stdint.h>

enum {
	/** How often a runtime that may grow is attached to again. */
	ATTACH_GROWTH_MAX = 6,
	/**
	 * After so many tries, which take 1.4 s, memory that makes no sense is no runtime's. Before, the linker may not have
	 * mapped all of it yet, so that the file's own bytes are there.
	 */
	ATTACH_EARLY_TRIES = 5,
};

/** Pause after a try; @try_count is the number of tries before it. */
uint64_t attach_pace_pause_ns(uint32_t try_count);

/** Minimum pause between two tries when the mappings change repeatedly. */
uint64_t attach_pace_least_ns(uint32_t try_count);

/** Pause from attaching to attaching again, which happened @growth_count times before (below ATTACH_GROWTH_MAX). */
uint64_t attach_pace_growth_ns(uint32_t growth_count);

/** Pause after a read of the process's memory hung, for the @hang_count-th time (from 1 on). */
uint64_t attach_pace_hanging_ns(uint32_t hang_count);

#endif
