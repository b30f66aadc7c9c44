/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sums over all samples of the run, and the reporter in front of the others: it counts each sample
 * and hands it on. So the sums stand whatever becomes of the samples behind it.
 */
#ifndef REPORTER_SAMPLE_TOTALS_H
#define REPORTER_SAMPLE_TOTALS_H

#include <stdint.h>

#include "reporter/reporter.h"

enum { SAMPLE_COUNTER_MAX_NEXT = 4 };

struct sample_totals {
	uint64_t samples;
	uint64_t complete;
	/** With at least one frame that is a guess. */
	uint64_t guesses;
	/** Whose walk ended in an error frame, by reason. */
	uint64_t errors[UNWIND_ERROR_COUNT];
	/** Taken before the agent knew the process. */
	uint64_t before_known;
	/**
	 * Of known processes that have a user stack: neither kernel threads nor tasks that gave up
	 * their memory to exit; and how many of these are complete.
	 */
	uint64_t known_user;
	uint64_t known_user_complete;
};

/**
 * Owned by the agent; report() is one thread's: the work thread's, or of samples that others send the
 * receiver's. Totals are read when that has ended, or by sample_counter_read().
 */
struct sample_counter {
	struct reporter reporter;
	struct sample_totals totals;
	/** Borrowed. */
	struct reporter *next[SAMPLE_COUNTER_MAX_NEXT];
	uint32_t next_count;
};

void sample_counter_init(struct sample_counter *counter);

/** The sums of samples, complete, guesses and errors, while samples come; the others are 0. */
void sample_counter_read(const struct sample_counter *counter, struct sample_totals *totals);

/** Hands every sample to @next too. At most SAMPLE_COUNTER_MAX_NEXT; before the first sample. */
void sample_counter_add(struct sample_counter *counter, struct reporter *next);

#endif
