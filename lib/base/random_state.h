/* SPDX-License-Identifier: Apache-2.0 */
/** The start of a sequence of random numbers that differs between agents; nothing secret. */
#ifndef LIB_BASE_RANDOM_STATE_H
#define LIB_BASE_RANDOM_STATE_H

#include <stdint.h>

enum { RANDOM_STATE_WORDS = 3 };

/**
 * Makes a state for erand48(3). Never waits: early at boot, while the kernel has no random numbers yet, the
 * state is made from the clock and the pid.
 */
void random_state_init(unsigned short state[RANDOM_STATE_WORDS]);

/** Draws an interval that differs from @interval_ns by at most the fraction @jitter, 0 to 1, of it. */
uint64_t random_interval_ns(unsigned short state[RANDOM_STATE_WORDS], uint64_t interval_ns,
			    double jitter);

#endif
