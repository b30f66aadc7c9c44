// SPDX-License-Identifier: Apache-2.0
#include "agent/report_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "reporter/function_counts.h"
#include "reporter/report_json.h"

static uint32_t columns_of(int fd)
{
	struct winsize size;

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return REPORT_COLUMNS;
	if (size.ws_col < REPORT_COLUMNS_MIN)
		return REPORT_COLUMNS_MIN;
	return size.ws_col < REPORT_COLUMNS_MAX ? size.ws_col : REPORT_COLUMNS_MAX;
}

/* NO_COLOR as https://no-color.org has it. */
static bool has_colours(int fd)
{
	const char *terminal = getenv("TERM"), *off = getenv("NO_COLOR");

	return isatty(fd) && terminal && strcmp(terminal, "dumb") && !(off && *off);
}

static int count_functions(const struct sample_snapshot *snapshot, uint8_t origin,
			   struct function_counts *counts)
{
	int error = 0;

	for (size_t i = 0; i < snapshot->count && !error; i++) {
		const struct stored_sample *stored = &snapshot->samples[i];

		/* Counts of different origins cannot be added. */
		if (stored->sample.origin == origin)
			error = function_counts_add(counts, &stored->sample,
						    stored_sample_count(stored));
	}
	return error;
}

static int print_text(FILE *out, const struct function_counts *counts,
		      const struct report_info *info)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	struct report_info shown = *info;
	int error;

	shown.columns = columns_of(fileno(out));
	shown.has_colours = has_colours(fileno(out));
	error = report_append(counts, &shown, &text);
	if (!error)
		fputs(text_builder_text(&text), out);
	return error;
}

int report_output_print(enum report_stream stream, const struct function_counts *counts,
			const struct sample_snapshot *snapshot,
			const struct report_contents *contents)
{
	FILE *out = stream == REPORT_TO_ERROR ? stderr : stdout;
	int error;

	if (contents->is_json)
		error = report_json_write(out, counts, snapshot, &contents->profile,
					  contents->info.type, contents->info.costs);
	else
		error = print_text(out, counts, &contents->info);
	return !error && (fflush(out) || ferror(out)) ? -EIO : error;
}

int report_output_write(enum report_stream stream, const struct sample_snapshot *snapshot,
			const struct report_contents *contents, struct symbol_lookup *lookup)
{
	_cleanup_(function_counts_deinit) struct function_counts counts;
	int error;

	function_counts_init(&counts, lookup);
	error = count_functions(snapshot, profile_info_shown_origin(&contents->profile), &counts);
	if (!error)
		error = report_output_print(stream, &counts, snapshot, contents);
	if (error)
		log_error("the report: %s; it is not written", strerror(-error));
	return error;
}
