/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/show_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/privileges.h"
#include "agent/report_output.h"
#include "agent/stop_signal.h"
#include "build/version.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "viewer/open/open_file.h"
#include "viewer/viewer.h"

enum {
	HISTORY_MAX_BYTES = 1 << 30,
	SOURCE_MAX_BYTES = 1024,
};

struct shown_file {
	/* Stands before the history, and adds up the values of each type. */
	struct reporter reporter;
	const struct options *options;
	struct opened_samples opened;
	struct reporter *history;
	struct api_totals totals[PROFILE_TYPES_MAX];
	char source[SOURCE_MAX_BYTES];
	struct viewer *viewer;
	struct stop_signal stop;
	bool has_stop;
};

static void shown_file_deinit(struct shown_file *shown)
{
	viewer_destroy(shown->viewer);
	opened_samples_deinit(&shown->opened);
	if (shown->has_stop)
		stop_signal_deinit(&shown->stop);
}

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct shown_file *shown = (struct shown_file *)reporter;
	struct api_totals *totals = &shown->totals[event->sample.origin];
	const struct trace *trace = event->sample.trace;

	totals->samples += event->value;
	totals->complete += trace->is_complete ? event->value : 0;
	totals->guesses += trace->has_guess ? event->value : 0;
	totals->errors += trace->error_mask ? event->value : 0;
	shown->history->ops->report(shown->history, event);
}

_Static_assert(offsetof(struct shown_file, reporter) == 0, "report() casts");

static void read_totals(void *context, uint32_t type, struct api_totals *totals)
{
	const struct shown_file *shown = context;

	*totals = shown->totals[type];
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!strcmp(path, "-"))
		return "standard input";
	return slash ? slash + 1 : path;
}

/* "before.pb.gz, after.pb.gz" */
static void name_source(struct shown_file *shown)
{
	size_t length = 0;

	for (uint32_t i = 0; i < shown->options->open_count && length < sizeof(shown->source); i++)
		length += (size_t)snprintf(shown->source + length, sizeof(shown->source) - length,
					   "%s%s", i ? ", " : "",
					   file_name(shown->options->opens[i]));
}

static int make_viewer(struct shown_file *shown)
{
	const struct opened_samples *opened = &shown->opened;
	uint64_t start_ns = opened->start_ns && opened->start_ns < opened->first_ns ?
				    opened->start_ns :
				    opened->first_ns;
	const struct viewer_options options = {
		.address = shown->options->viewer.address,
		.token_file = shown->options->viewer.token_file,
		.history = {
			.retention_ns = HISTORY_WITHOUT_END,
			.max_bytes = HISTORY_MAX_BYTES,
			.keeps_values = true,
		},
		.api = {
			.read_totals = read_totals,
			.context = shown,
			.version = AGENT_VERSION,
			.host = opened->host,
			.kernel = "",
			.source = shown->source,
			.samples_per_second = opened->samples_per_second,
			.epoch_realtime_ns = start_ns,
			.epoch_monotonic_ns = start_ns,
			.facts = &opened->facts,
			/* The file has those that it may have. */
			.exports_command_lines = true,
		},
	};

	return viewer_create(&options, &shown->viewer);
}

static void report_samples(struct shown_file *shown)
{
	static const struct reporter_ops ops = { .report = report };
	struct history *history = viewer_history(shown->viewer);
	struct history_facts facts;

	shown->reporter.ops = &ops;
	shown->history = history_reporter(history);
	opened_samples_report_values(&shown->opened, &shown->reporter);
	/* The history has copied all samples that it keeps. */
	opened_samples_free(&shown->opened);
	history_facts(history, &facts);
	if (facts.dropped)
		log_warn("the sample store is full; %llu samples of %s are left out",
			 (unsigned long long)facts.dropped, shown->source);
}

/* --- the report --- */

struct report_counter {
	struct reporter reporter;
	struct function_counts counts;
	/* The values that are counted. */
	uint32_t type;
	struct api_totals totals;
	int error;
};

static void count(struct reporter *reporter, const struct sample_event *event)
{
	struct report_counter *counter = (struct report_counter *)reporter;
	const struct trace *trace = event->sample.trace;

	if (event->sample.origin != counter->type || counter->error)
		return;
	counter->totals.samples += event->value;
	counter->totals.complete += trace->is_complete ? event->value : 0;
	counter->error = function_counts_add(&counter->counts, &event->sample, event->value);
}

_Static_assert(offsetof(struct report_counter, reporter) == 0, "count() casts");

/* As on the page: nothing is said of a file whose tool knows no incomplete stacks, nor where values cancel each other out. */
static void describe_quality(const struct report_counter *counter, struct text_builder *text)
{
	double complete = (double)(int64_t)counter->totals.complete;
	double samples = (double)(int64_t)counter->totals.samples;

	if (complete >= 0 && complete < samples)
		text_builder_format(text, "%.1f %% of the stacks are complete",
				    100.0 * complete / samples);
}

static int print_report(struct shown_file *shown, struct report_counter *counter)
{
	_cleanup_(text_builder_deinit) struct text_builder quality = { 0 };
	const struct opened_samples *opened = &shown->opened;
	struct report_contents contents = {
		.info = {
			.subject = shown->source,
			.duration_ns = opened->facts.duration_ns,
			.type = &opened->facts.types[opened->facts.shown_type],
		},
		.profile = {
			.start_time_ns = opened->start_ns,
			.host = opened->host,
			.facts = &opened->facts,
		},
		.is_json = shown->options->json,
	};

	describe_quality(counter, &quality);
	contents.info.quality = text_builder_text(&quality);
	return report_output_print(REPORT_TO_OUTPUT, &counter->counts, NULL, &contents);
}

static int report_file(struct shown_file *shown)
{
	static const struct reporter_ops ops = { .report = count };
	struct report_counter counter = {
		.reporter = { .ops = &ops },
		.type = shown->opened.facts.shown_type,
	};
	int error;

	function_counts_init(&counter.counts, NULL);
	opened_samples_report_values(&shown->opened, &counter.reporter);
	error = counter.error ? counter.error : print_report(shown, &counter);
	function_counts_deinit(&counter.counts);
	return error ? fail_errno(error, "the report of %s", shown->source) : 0;
}

static int run(struct shown_file *shown)
{
	int error = open_files(shown->options->opens, shown->options->open_count, &shown->opened);

	name_source(shown);
	if (!error && shown->options->value_type &&
	    opened_samples_select_type(&shown->opened, shown->options->value_type))
		error = fail(-EINVAL, "%s: %s", shown->source, error_text());
	if (!error && shown->options->report)
		return report_file(shown);
	if (!error)
		error = make_viewer(shown);
	if (error)
		return error;
	report_samples(shown);
	error = viewer_start(shown->viewer);
	if (error)
		return error;
	log_info("showing %s at %s; Ctrl-C or SIGTERM stops", shown->source,
		 viewer_url(shown->viewer));
	while (!stop_signal_wait(&shown->stop, UINT64_MAX))
		;
	viewer_stop(shown->viewer);
	return 0;
}

int show_file(const struct options *options)
{
	_cleanup_(shown_file_deinit) struct shown_file shown = { .options = options };
	int error = privileges_drop(options, -1);

	if (!error)
		error = stop_signal_init(&shown.stop, EXIT_STATUS_FAILED, -1);
	shown.has_stop = !error;
	if (!error)
		error = run(&shown);
	if (!error)
		return EXIT_STATUS_DONE;
	log_error("%s", error_text());
	return error == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
}
