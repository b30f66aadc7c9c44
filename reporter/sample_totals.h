/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sums over all samples of the run. The counter is a reporter in front of the others: it counts
 * each sample and passes it on. So the sums do not depend on what the other reporters do with the
 * samples.
 */
#ifndef REPORTER_SAMPLE_TOTALS_H
#define REPORTER_SAMPLE_TOTALS_H

#include <stdint.h>

#include "reporter/reporter.h"

enum { SAMPLE_COUNTER_MAX_NEXT = 6 };

struct sample_totals {
	uint64_t samples;
	uint64_t complete;
	/** Samples with at least one guessed frame. */
	uint64_t guesses;
	/** Samples whose unwind ended in an error frame, by reason. */
	uint64_t errors[UNWIND_ERROR_COUNT];
	/** Samples that were taken before the agent knew the process. */
	uint64_t before_known;
	/**
	 * Samples of known processes that have a user stack (neither kernel threads nor exiting
	 * tasks that have released their memory), and how many of them are complete.
	 */
	uint64_t known_user;
	uint64_t known_user_complete;
};

/**
 * Owned by the agent. report() is called by one thread: the work thread, or for samples from other
 * machines the receiver's thread. The totals may be read when that thread has ended, or by
 * sample_counter_read().
 */
struct sample_counter {
	struct reporter reporter;
	struct sample_totals totals;
	/** Borrowed. */
	struct reporter *next[SAMPLE_COUNTER_MAX_NEXT];
	uint32_t next_count;
};

void sample_counter_init(struct sample_counter *counter);

/**
 * Reads the sums of samples, complete, guesses and errors while samples are being counted; the
 * other sums are 0.
 */
void sample_counter_read(const struct sample_counter *counter, struct sample_totals *totals);

/**
 * Passes every sample on to @next too. At most SAMPLE_COUNTER_MAX_NEXT calls, before the first
 * sample.
 */
void sample_counter_add(struct sample_counter *counter, struct reporter *next);

#endif
