/* SPDX-License-Identifier: Apache-2.0 */
/** When a runtime is tried again that was not ready, or that may have grown: after ever longer pauses. */
#ifndef AGENT_PROCESSES_RUNTIMES_ATTACH_PACE_H
#define AGENT_PROCESSES_RUNTIMES_ATTACH_PACE_H

#include <stdint.h>

enum {
	/** So often what may grow is attached to again. */
	ATTACH_GROWTH_MAX = 6,
};

/** From a try to the next; @try_count were there before it. */
uint64_t attach_pace_pause_ns(uint32_t try_count);

/** At least from one try to the next, when the mappings change again and again. */
uint64_t attach_pace_least_ns(uint32_t try_count);

/** From attaching to the next look, @growth_count (below ATTACH_GROWTH_MAX) of which were there before. */
uint64_t attach_pace_growth_ns(uint32_t growth_count);

#endif
