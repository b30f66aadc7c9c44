/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The line at exit: how much was sampled, what is missing, and how far the stacks can be trusted.
 */
#ifndef REPORTER_SUMMARY_H
#define REPORTER_SUMMARY_H

#include <stdint.h>

#include "lib/base/text_builder.h"
#include "lib/model/metrics.h"
#include "reporter/sample_totals.h"

/**
 * Ticks of the sampling events. Each tick is in exactly one class: busy samples, idle, unselected,
 * stolen and lost_*.
 */
struct run_summary {
	/** Counted busy samples, and how many of them are complete, guessed and so on. */
	struct sample_totals samples;
	uint64_t idle;
	uint64_t unselected;
	/** Ticks during which a hypervisor had the CPU. */
	uint64_t stolen;
	/**
	 * Lost ticks: the ring was full; the kernel skipped the program; or the record never
	 * arrived, was malformed, or could not be processed because our queue was full or the time
	 * was over.
	 */
	uint64_t lost_ring_full;
	uint64_t lost_skipped;
	uint64_t lost_dropped;
	/**
	 * Not ticks of their own but a part of the busy samples: those that the store of the
	 * outputs had no room for.
	 */
	uint64_t unstored;
	/** Not ticks: files that were deleted before their names or lines were read. */
	uint64_t files_gone;
};

/** Fills @summary from the totals of all samples and the metrics. */
void run_summary_collect(struct run_summary *summary, const struct sample_totals *totals,
			 const struct metrics_snapshot *metrics);

/** The sum over all classes. */
uint64_t run_summary_ticks(const struct run_summary *summary);

/** Appends the line, without a line end. */
void run_summary_append(const struct run_summary *summary, struct text_builder *text);

#endif
