/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The report of a run for people who read it in a terminal: a summary line, processes, functions, the heaviest calls, and
 * the quality of the samples in one line. No line is wider than asked for.
 */
#ifndef REPORTER_REPORT_H
#define REPORTER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "lib/model/profile_facts.h"
#include "reporter/cost_table.h"
#include "reporter/function_counts.h"

enum {
	REPORT_COLUMNS_MIN = 60,
	REPORT_COLUMNS_MAX = 240,
	/** Where the output is no terminal. */
	REPORT_COLUMNS = 100,
};

struct report_info {
	/** The profiled processes: "make and what it starts". */
	const char *subject;
	/** The line about the quality, as of run_summary_append(); "" if nothing is known of it. */
	const char *quality;
	/** The type of the counted values of an opened profile. NULL: the agent's samples. Borrowed. */
	const struct value_type *type;
	/** Costs of processes; NULL: they were not counted. Borrowed. */
	const struct cost_table *costs;
	uint64_t duration_ns;
	uint32_t samples_per_second;
	/** From REPORT_COLUMNS_MIN to REPORT_COLUMNS_MAX. */
	uint32_t columns;
	/** Colours, by the escape sequences that all terminals of today know. */
	bool has_colours;
};

/**
 * Appends the report, which ends with a line end. The counts are values of @info's type, of either sign; where some are
 * negative, the calls are left out. -ENOMEM, -E2BIG for too many different calls.
 */
int report_append(const struct function_counts *counts, const struct report_info *info,
		  struct text_builder *text);

#endif
