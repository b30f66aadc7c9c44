// SPDX-License-Identifier: Apache-2.0
#include "lib/base/random_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/clock.h"

void random_state_init(unsigned short state[RANDOM_STATE_WORDS])
{
	const size_t bytes = RANDOM_STATE_WORDS * sizeof(*state);
	uint64_t mixed;

	if (getrandom(state, bytes, GRND_NONBLOCK) == (ssize_t)bytes)
		return;
	/* The pid is mixed into bits that change rarely in the clock. */
	mixed = clock_realtime_ns() ^ (uint64_t)getpid() << 32;
	memcpy(state, &mixed, bytes);
}

uint64_t random_interval_ns(unsigned short state[RANDOM_STATE_WORDS], uint64_t interval_ns,
			    double jitter)
{
	double part = 2 * erand48(state) - 1;

	return (uint64_t)((double)interval_ns + (double)interval_ns * jitter * part);
}
