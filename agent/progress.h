/* SPDX-License-Identifier: Apache-2.0 */
/** The line below the log of a terminal that shows how far a run is. Owner: the main thread. */
#ifndef AGENT_PROGRESS_H
#define AGENT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/options.h"
#include "reporter/sample_totals.h"

struct progress {
	bool is_shown;
	uint64_t start_ns;
	uint64_t duration_ns;
	const struct sample_counter *counter;
};

/** The line is shown if standard error is a terminal, and nobody else writes there: a command, or -log-level debug. */
void progress_init(struct progress *progress, const struct options *options,
		   const struct sample_counter *counter, uint64_t start_ns);

/** To be called about once a second. log_show_status(NULL) removes the line. */
void progress_show(const struct progress *progress, uint64_t now_ns);

#endif
