/* SPDX-License-Identifier: Apache-2.0 */
/** The start of a sequence of random numbers that differs between agents; nothing secret. */
#ifndef LIB_BASE_RANDOM_STATE_H
#define LIB_BASE_RANDOM_STATE_H

enum { RANDOM_STATE_WORDS = 3 };

/**
 * Makes a state for erand48(3). Never waits: early at boot, while the kernel has no random numbers yet, the
 * state is made from the clock and the pid.
 */
void random_state_init(unsigned short state[RANDOM_STATE_WORDS]);

#endif
