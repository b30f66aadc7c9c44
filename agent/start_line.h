/* SPDX-License-Identifier: Apache-2.0 */
/** The line that says at the start what is sampled, and where it goes. */
#ifndef AGENT_START_LINE_H
#define AGENT_START_LINE_H

#include <stdint.h>

#include "agent/destinations.h"
#include "agent/options.h"
#include "lib/base/text_builder.h"

/** Appends what is sampled: "all processes", "make and what it starts". */
void start_line_append_subject(const struct options *options, struct text_builder *text);

/** Logs the line. @cpu_count: CPUs that are sampled. */
void start_line_log(const struct options *options, const struct destinations *destinations,
		    uint32_t cpu_count);

#endif
