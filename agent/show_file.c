/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/show_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/stop_signal.h"
#include "build/version.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "reporter/sample_totals.h"
#include "viewer/open/open_file.h"
#include "viewer/viewer.h"

enum {
	HISTORY_MAX_BYTES = 1 << 30,
};

struct shown_file {
	const struct options *options;
	struct opened_samples opened;
	struct sample_counter counter;
	struct viewer *viewer;
	struct stop_signal stop;
	bool has_stop;
};

static void shown_file_deinit(struct shown_file *shown)
{
	viewer_destroy(shown->viewer);
	opened_samples_free(&shown->opened);
	if (shown->has_stop)
		stop_signal_deinit(&shown->stop);
}

static void read_totals(void *context, struct api_totals *totals)
{
	const struct sample_counter *counter = context;
	struct sample_totals sums;

	sample_counter_read(counter, &sums);
	totals->samples = sums.samples;
	totals->complete = sums.complete;
	totals->guesses = sums.guesses;
	for (int i = 0; i < UNWIND_ERROR_COUNT; i++)
		totals->errors += sums.errors[i];
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
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
		},
		.api = {
			.read_totals = read_totals,
			.context = &shown->counter,
			.version = AGENT_VERSION,
			.host = opened->host,
			.kernel = "",
			.source = file_name(shown->options->open_path),
			.samples_per_second = opened->samples_per_second,
			.epoch_realtime_ns = start_ns,
			.epoch_monotonic_ns = start_ns,
		},
	};

	return viewer_create(&options, &shown->viewer);
}

static void report_samples(struct shown_file *shown)
{
	struct history *history = viewer_history(shown->viewer);
	struct history_facts facts;
	uint64_t reported;

	sample_counter_init(&shown->counter);
	sample_counter_add(&shown->counter, history_reporter(history));
	reported = opened_samples_report(&shown->opened, &shown->counter.reporter);
	/* The history has copied all samples that it keeps. */
	opened_samples_free(&shown->opened);
	history_facts(history, &facts);
	if (facts.dropped)
		log_warn("the sample store is full; %llu samples of %s are left out",
			 (unsigned long long)facts.dropped, shown->options->open_path);
	if (reported < shown->opened.total)
		log_info("the %llu samples of %s are scaled down to %llu",
			 (unsigned long long)shown->opened.total, shown->options->open_path,
			 (unsigned long long)reported);
}

static int run(struct shown_file *shown)
{
	int error = open_file(shown->options->open_path, &shown->opened);

	if (!error)
		error = make_viewer(shown);
	if (error)
		return error;
	report_samples(shown);
	error = viewer_start(shown->viewer);
	if (error)
		return error;
	log_info("showing %s at %s; Ctrl-C or SIGTERM stops", shown->options->open_path,
		 viewer_url(shown->viewer));
	while (!stop_signal_wait(&shown->stop, UINT64_MAX))
		;
	viewer_stop(shown->viewer);
	return 0;
}

int show_file(const struct options *options)
{
	_cleanup_(shown_file_deinit) struct shown_file shown = { .options = options };
	int error = stop_signal_init(&shown.stop, EXIT_STATUS_FAILED);

	shown.has_stop = !error;
	if (!error)
		error = run(&shown);
	if (!error)
		return EXIT_STATUS_DONE;
	log_error("%s", error_text());
	return error == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED;
}
