// SPDX-License-Identifier: Apache-2.0
#include "agent/start_line.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

void start_line_append_subject(const struct options *options, struct text_builder *text)
{
	if (!options->command) {
		text_builder_append(text, options_are_selective(options) ?
						  "the selected processes" :
						  "all processes");
		return;
	}
	text_builder_append_name(text, options->command[0]);
	text_builder_append(text, " and what it starts");
}

void start_line_log(const struct options *options, const struct destinations *destinations,
		    uint32_t cpu_count)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };

	text_builder_append(&text, "sampling ");
	start_line_append_subject(options, &text);
	text_builder_format(&text, " on %u CPU%s %u times a second", cpu_count,
			    cpu_count == 1 ? "" : "s", options->samples_per_second);
	if (options->duration_ns)
		text_builder_format(&text, " for %g s",
				    (double)options->duration_ns / NS_PER_SECOND);
	text_builder_append(&text, " to ");
	destinations_describe(destinations, &text);
	text_builder_append(&text, options->command ? ", until the command ends" :
						      "; Ctrl-C or SIGTERM stops");
	log_info("%s", text_builder_text(&text));
}
