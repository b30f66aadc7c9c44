/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The agent's metrics as text for Prometheus: its text format 0.0.4, or OpenMetrics 1.0. All come from the one table
 * (lib/model/metrics.h), the summary's classes of ticks (reporter/summary.h), and the kernel. Times are in seconds. The names
 * begin with "allframes_", those that all programs have with "process_". Counters end with "_total".
 */
#ifndef VIEWER_METRICS_TEXT_H
#define VIEWER_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "lib/model/metrics.h"
#include "reporter/sample_totals.h"

/** Use of the machine by the agent's process. */
struct process_usage {
	double cpu_seconds;
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t open_fds;
	uint64_t max_fds;
};

struct metrics_text_input {
	const struct metrics_snapshot *metrics;
	const struct sample_totals *samples;
	const struct process_usage *usage;
	/** When the agent was started, ns since 1970, and its version. */
	uint64_t start_ns;
	const char *version;
};

#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OPEN_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/** True if a client with the header @accept, or NULL, takes OpenMetrics. */
bool metrics_text_is_open(const char *accept);

void metrics_text_append(struct text_builder *text, const struct metrics_text_input *input,
			 bool is_open);

/** Reads the usage of this process; what cannot be read is 0. */
void process_usage_read(struct process_usage *usage);

#endif
