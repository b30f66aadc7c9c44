/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/attach_pace.h"

#include "lib/base/clock.h"

/* Minimum pause between tries, which grows, when the mappings change repeatedly. */
#define TRY_MIN_NS (50 * NS_PER_MS)

/* The last pause is repeated. */
static const uint64_t pauses_ns[] = {
	5 * NS_PER_MS, 20 * NS_PER_MS,	  80 * NS_PER_MS,     320 * NS_PER_MS,
	NS_PER_SECOND, 5 * NS_PER_SECOND, 20 * NS_PER_SECOND, 60 * NS_PER_SECOND,
};

static const uint64_t growth_pauses_ns[ATTACH_GROWTH_MAX] = {
	200 * NS_PER_MS,    NS_PER_SECOND,	5 * NS_PER_SECOND,
	20 * NS_PER_SECOND, 60 * NS_PER_SECOND, 600 * NS_PER_SECOND,
};

enum {
	PAUSE_COUNT = sizeof(pauses_ns) / sizeof(pauses_ns[0]),
	/* TRY_MIN_NS doubles after each TRIES_PER_DOUBLING tries, at most DOUBLINGS_MAX times. */
	TRIES_PER_DOUBLING = 16,
	DOUBLINGS_MAX = 6,
	HANGING_DOUBLINGS_MAX = 9,
};

/*
 * Pause after the first hang, which doubles. A lock that was held for long on a busy machine is soon free again. A process
 * that hangs on purpose holds up others of its user ever more seldom.
 */
#define HANGING_NS (10 * NS_PER_SECOND)

uint64_t attach_pace_pause_ns(uint32_t try_count)
{
	return pauses_ns[try_count < PAUSE_COUNT ? try_count : PAUSE_COUNT - 1];
}

uint64_t attach_pace_least_ns(uint32_t try_count)
{
	uint32_t doublings = try_count / TRIES_PER_DOUBLING;

	return TRY_MIN_NS << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

uint64_t attach_pace_hanging_ns(uint32_t hang_count)
{
	uint32_t doublings = hang_count - 1;

	return HANGING_NS << (doublings < HANGING_DOUBLINGS_MAX ? doublings :
								  HANGING_DOUBLINGS_MAX);
}

uint64_t attach_pace_growth_ns(uint32_t growth_count)
{
	return growth_pauses_ns[growth_count];
}
