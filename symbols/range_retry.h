/* SPDX-License-Identifier: Apache-2.0 */
/** When to try again what the system could not do, which tells nothing of the file. */
#ifndef SYMBOLS_RANGE_RETRY_H
#define SYMBOLS_RANGE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/** All zero is fresh. */
struct range_retry {
	/** CLOCK_MONOTONIC: not before. */
	uint64_t time_ns;
	uint32_t tries;
};

/** True if what failed with @err is to be tried again: a few times, each time later. */
bool range_retry_note(struct range_retry *retry, int err);

#endif
