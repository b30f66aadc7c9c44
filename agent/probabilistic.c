// SPDX-License-Identifier: Apache-2.0
/* The draws of probabilistic profiling. Intervals follow each other without drift. */
#include "agent/probabilistic.h"

#include <sys/random.h>

#include "lib/base/clock.h"

/* splitmix64, by Sebastiano Vigna (public domain): each state gives an independent-looking word. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t word = *state += 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return word ^ word >> 31;
}

void probabilistic_init(struct probabilistic *probabilistic, uint32_t threshold,
			uint64_t interval_ns, const uint64_t *seed)
{
	uint64_t random_state;

	if (seed)
		random_state = *seed;
	else if (getrandom(&random_state, sizeof(random_state), GRND_NONBLOCK) !=
		 sizeof(random_state))
		random_state = clock_realtime_ns();
	*probabilistic = (struct probabilistic){
		.threshold = threshold,
		.interval_ns = interval_ns,
		.random_state = random_state,
	};
}

bool probabilistic_tick(struct probabilistic *probabilistic, uint64_t now_ns)
{
	bool was_first = !probabilistic->next_draw_ns;
	bool was_on = probabilistic->is_on;

	if (now_ns < probabilistic->next_draw_ns)
		return false;
	if (was_first)
		probabilistic->next_draw_ns = now_ns;
	/* An agent that was stopped for several intervals draws once, for the present one. */
	probabilistic->next_draw_ns +=
		((now_ns - probabilistic->next_draw_ns) / probabilistic->interval_ns + 1) *
		probabilistic->interval_ns;
	probabilistic->is_on = probabilistic->threshold >
			       next_random(&probabilistic->random_state) % 100;
	return was_first || probabilistic->is_on != was_on;
}
