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

/** Ticks of the sampling events: each is in exactly one of busy samples, idle, unselected, stolen and lost_*. */
struct run_summary {
	/** Counted busy samples; of them the complete ones and so on. */
	struct sample_totals samples;
	uint64_t idle;
	uint64_t unselected;
	/** Gone while a hypervisor had the CPU. */
	uint64_t stolen;
	/**
	 * Lost: ring full; the kernel skipped the program; the record never came, came malformed, or our
	 * queue was full or the time over before its turn.
	 */
	uint64_t lost_ring_full;
	uint64_t lost_skipped;
	uint64_t lost_dropped;
	/** No ticks of their own, but some of the busy samples: those that the store of the outputs had no room for. */
	uint64_t unstored;
	/** No ticks: files that were gone before their names or lines were read. */
	uint64_t files_gone;
};

/** Puts the numbers together from the totals of all samples and the metrics. */
void run_summary_collect(struct run_summary *summary, const struct sample_totals *totals,
			 const struct metrics_snapshot *metrics);

/** The sum over all classes. */
uint64_t run_summary_ticks(const struct run_summary *summary);

/** Appends the line, without a line end. */
void run_summary_append(const struct run_summary *summary, struct text_builder *text);

#endif
