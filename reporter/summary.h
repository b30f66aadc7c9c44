/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The line at exit: how much was sampled, what is missing, and how far the stacks can be trusted.
 */
#ifndef REPORTER_SUMMARY_H
#define REPORTER_SUMMARY_H

#include <stdint.h>

#include "agent/base/metrics.h"
#include "agent/base/text_builder.h"
#include "reporter/sample_totals.h"

/** Ticks of the sampling events: busy, idle, unselected, stolen and lost ones make up all of them. */
struct run_summary {
	/** Counted busy samples; of them the complete ones and so on. */
	struct sample_totals samples;
	uint64_t idle;
	uint64_t unselected;
	/** Gone while a hypervisor had the CPU. */
	uint64_t stolen;
	/**
	 * Lost: ring full; the kernel skipped the program; our queues or a store were full, or the
	 * record was malformed.
	 */
	uint64_t lost_ring_full;
	uint64_t lost_skipped;
	uint64_t lost_dropped;
	/** Of lost_dropped, those that a store had no room for: they are among the samples too. */
	uint64_t counted_and_lost;
	/** No ticks: files that were gone before their names or lines were read. */
	uint64_t files_gone;
};

/** Puts the numbers together from the totals of all samples and the metrics. */
void run_summary_collect(struct run_summary *summary, const struct sample_totals *totals,
			 const struct metrics_snapshot *metrics);

/** Appends the line, without a line end. */
void run_summary_append(const struct run_summary *summary, struct text_builder *text);

#endif
