/* SPDX-License-Identifier: Apache-2.0 */
/** Writes the report of a run (reporter/report.h) to a standard stream, as wide as its terminal. */
#ifndef AGENT_REPORT_OUTPUT_H
#define AGENT_REPORT_OUTPUT_H

#include "agent/options.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/report.h"
#include "reporter/sample_store.h"

/**
 * @info without columns and colours, which are the stream's. A failure is logged as an error and returned.
 */
int report_output_write(enum report_stream stream, const struct sample_snapshot *snapshot,
			const struct report_info *info, struct symbol_lookup *lookup);

#endif
