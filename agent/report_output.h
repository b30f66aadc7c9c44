/* SPDX-License-Identifier: Apache-2.0 */
/** Writes the report of a run (reporter/report.h) to a standard stream, as wide as its terminal. */
#ifndef AGENT_REPORT_OUTPUT_H
#define AGENT_REPORT_OUTPUT_H

#include "agent/options.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/function_counts.h"
#include "reporter/profile_info.h"
#include "reporter/report.h"
#include "reporter/sample_store.h"

/** The parts of a report; all is borrowed. */
struct report_contents {
	/** Without columns and colours, which are the stream's. */
	struct report_info info;
	struct profile_info profile;
	/** Print JSON. */
	bool is_json;
};

/** Prints a report of what is counted. @snapshot may be NULL. 0 or -errno. */
int report_output_print(enum report_stream stream, const struct function_counts *counts,
			const struct sample_snapshot *snapshot,
			const struct report_contents *contents);

/** The same for all samples. A failure is logged as an error, too. */
int report_output_write(enum report_stream stream, const struct sample_snapshot *snapshot,
			const struct report_contents *contents, struct symbol_lookup *lookup);

#endif
