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

static int count_functions(const struct sample_snapshot *snapshot, struct function_counts *counts)
{
	int error = 0;

	for (size_t i = 0; i < snapshot->count && !error; i++) {
		const struct stored_sample *stored = &snapshot->samples[i];

		/* Counts of different origins cannot be added. */
		if (stored->sample.origin == ORIGIN_CLOCK)
			error = function_counts_add(counts, &stored->sample, stored->count);
	}
	return error;
}

int report_output_write(enum report_stream stream, const struct sample_snapshot *snapshot,
			const struct report_info *info, struct symbol_lookup *lookup)
{
	_cleanup_(function_counts_deinit) struct function_counts counts;
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	FILE *out = stream == REPORT_TO_ERROR ? stderr : stdout;
	struct report_info shown = *info;
	int error;

	shown.columns = columns_of(fileno(out));
	shown.has_colours = has_colours(fileno(out));
	function_counts_init(&counts, lookup);
	error = count_functions(snapshot, &counts);
	if (!error)
		error = report_append(&counts, &shown, &text);
	if (!error) {
		errno = EIO;
		if (fputs(text_builder_text(&text), out) < 0 || fflush(out))
			error = -errno;
	}
	if (error)
		log_error("the report: %s; it is not written", strerror(-error));
	return error;
}
