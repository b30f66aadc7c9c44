// SPDX-License-Identifier: Apache-2.0
/*
 * build/replay_reports FOLDER < FILE.reports
 *
 * Hands recorded reports (agent/tools/report_file.h) to everything that takes samples, and writes what comes of them
 * into FOLDER: every kind of output file, the answers of the page's API, and the outputs opened again
 * (agent/tests/replay_test.py). Times, names and ids are those of the file, but for the random ids of OTLP profiles.
 *
 * Exit status: 0, 1 for what could not be read or written, 2 wrong usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tools/report_file.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "reporter/output_files.h"
#include "reporter/sample_store.h"
#include "viewer/api.h"
#include "viewer/flame_page.h"
#include "viewer/flame_svg.h"
#include "viewer/history.h"
#include "viewer/open/open_file.h"

enum {
	PARAMETERS_MAX = 16,
	PATH_BYTES = 4096,
	SMALL_REQUEST_BYTES = 1 << 14,
};

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "replay_reports: %s: %s (%d)\n", what, error_text(), error);
	exit(1);
}

static void path_in(char *path, const char *folder, const char *name)
{
	snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t count)
{
	char path[PATH_BYTES];
	FILE *file;

	path_in(path, folder, name);
	file = fopen(path, "we");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
		check(-1, path);
}

static void report_all(const struct report_file *file, struct reporter *reporter)
{
	for (uint32_t i = 0; i < file->sample_count; i++) {
		reporter->ops->report(reporter, &file->samples[i]);
	}
}

static struct sample_store *make_store(bool keeps_times)
{
	struct sample_store *store = sample_store_create(&(struct sample_store_options){
		.keeps_times = keeps_times,
		.keeps_cpus = keeps_times,
	});

	if (!store)
		abort();
	return store;
}

static struct profile_info info_of(const struct report_file *file)
{
	static const char *const tags[] = { "team:a", "stage:test" };

	return (struct profile_info){
		.start_time_ns = file->start_realtime_ns,
		.start_monotonic_ns = file->start_monotonic_ns,
		.duration_ns = file->duration_ns,
		.samples_per_second = file->samples_per_second,
		.tags = tags,
		.tag_count = 2,
	};
}

static struct otlp_options otlp_options_of(enum resource_grouping grouping)
{
	static const struct otlp_attribute attributes[] = {
		{ "host.name", "recorded" },
		{ "service.namespace", "replay" },
		{ "process.runtime.version", "of the options" },
	};

	return (struct otlp_options){
		.grouping = grouping,
		.agent_version = "v0",
		.attributes = attributes,
		/* The last attribute replaces one of the process's, and is used in one grouping only. */
		.attribute_count = grouping == GROUP_BY_SERVICE ? 3 : 2,
		.max_request_bytes = SIZE_MAX,
	};
}

static void write_outputs(const struct report_file *file, const char *folder,
			  const struct sample_snapshot *snapshot, const char *const *names,
			  size_t count, bool with_lines, const struct otlp_options *otlp)
{
	_cleanup_(output_files_deinit) struct output_files files = { 0 };
	char paths[8][PATH_BYTES];
	const char *pointers[8];
	const struct profile_info info = info_of(file);

	for (size_t i = 0; i < count; i++) {
		path_in(paths[i], folder, names[i]);
		pointers[i] = paths[i];
	}
	check(output_files_init(&files, pointers, count), "outputs");
	files.with_lines = with_lines;
	files.otlp = otlp;
	files.write_page = flame_page_write;
	files.write_svg = flame_svg_write;
	check(output_files_write(&files, snapshot, &info, (struct symbol_lookup *)&file->lookup),
	      "outputs");
}

struct small_requests {
	const char *folder;
	uint32_t count;
};

static int write_request(void *context, struct otlp_request *request)
{
	struct small_requests *requests = context;
	char name[64];

	snprintf(name, sizeof(name), "small.%u.otlp", requests->count++);
	write_file(requests->folder, name, request->bytes, request->byte_count);
	free(request->bytes);
	return 0;
}

static void write_small_requests(const struct report_file *file, const char *folder,
				 const struct sample_snapshot *snapshot)
{
	struct small_requests requests = { .folder = folder };
	struct otlp_options options = otlp_options_of(GROUP_BY_PROCESS);
	const struct otlp_window window = {
		.start_ns = file->start_monotonic_ns,
		.end_ns = file->start_monotonic_ns + file->duration_ns,
		.realtime_offset_ns = (int64_t)(file->start_realtime_ns - file->start_monotonic_ns),
	};

	/* Without names, as for a backend that has symbols. */
	options.samples_per_second = file->samples_per_second;
	options.max_request_bytes = SMALL_REQUEST_BYTES;
	check(otlp_build_requests(snapshot, &window, &options, write_request, &requests),
	      "requests");
}

static void replay_stores(const struct report_file *file, const char *folder)
{
	static const char *const plain[] = { "plain.folded", "table.txt", "page.html",
					     "profile.pb.gz" };
	static const char *const lines[] = { "lines.folded" };
	static const char *const otlp[] = { "container.otlp", "process.otlp", "service.otlp" };
	struct sample_store *store = make_store(false), *timed = make_store(true);
	_cleanup_(sample_snapshot_deinit) struct sample_snapshot snapshot = { 0 };
	_cleanup_(sample_snapshot_deinit) struct sample_snapshot with_times = { 0 };

	report_all(file, sample_store_reporter(store));
	report_all(file, sample_store_reporter(timed));
	check(sample_store_take(store, &snapshot), "store");
	check(sample_store_take(timed, &with_times), "store");
	write_outputs(file, folder, &snapshot, plain, 4, false, NULL);
	write_outputs(file, folder, &snapshot, lines, 1, true, NULL);
	for (int grouping = GROUP_BY_CONTAINER; grouping <= GROUP_BY_SERVICE; grouping++) {
		const struct otlp_options options = otlp_options_of(grouping);

		write_outputs(file, folder, &with_times, &otlp[grouping], 1, false, &options);
	}
	write_small_requests(file, folder, &with_times);
	sample_store_destroy(store);
	sample_store_destroy(timed);
}

/* @question is "path?name=value&..." without any encoding. */
static void ask(struct api *api, const char *folder, const char *name, const char *question)
{
	struct api_parameter parameters[PARAMETERS_MAX];
	char text[2048], *rest = text, *pair;
	struct api_request request = { .parameters = parameters };
	struct api_answer answer;

	snprintf(text, sizeof(text), "%s", question);
	request.path = strsep(&rest, "?");
	while (rest && (pair = strsep(&rest, "&")) && request.parameter_count < PARAMETERS_MAX) {
		parameters[request.parameter_count].name = strsep(&pair, "=");
		parameters[request.parameter_count++].value = pair ? pair : "";
	}
	api_answer(api, &request, &answer);
	if (answer.status != 200 || !answer.body) {
		fprintf(stderr, "replay_reports: %s: %.*s\n", question, (int)answer.bytes,
			answer.body);
		exit(1);
	}
	write_file(folder, name, answer.body, answer.bytes);
	free(answer.body);
}

static void replay_page(const struct report_file *file, const char *folder)
{
	static const char *const questions[][2] = {
		{ "flame.process.json", "flame?max_nodes=50000" },
		{ "flame.thread.json", "flame?max_nodes=50000&root=thread" },
		{ "flame.lines.json", "flame?max_nodes=50000&root=none&lines=1" },
		{ "flame.go.json", "flame?max_nodes=50000&kind=go" },
		{ "flame.python.json", "flame?max_nodes=50000&kind=python&kind=java" },
		{ "top.json", "top?limit=5000" },
		{ "facets.json", "facets" },
		{ "quality.json", "quality" },
		{ "timeline.json", "timeline?buckets=20" },
		{ "export.folded", "export?format=folded" },
		{ "export.pb.gz", "export?format=pprof" },
		{ "export.otlp", "export?format=otlp" },
		{ "export.html", "export?format=html" },
	};
	struct history *history =
		history_create(&(struct history_options){ .retention_ns = HISTORY_WITHOUT_END });
	const struct api_config config = {
		.history = history,
		.lookup = (struct symbol_lookup *)&file->lookup,
		.version = "v0",
		.host = "recorded",
		.kernel = "0",
		.source = "this machine",
		.samples_per_second = file->samples_per_second,
		.cpu_count = 2,
		.epoch_realtime_ns = file->start_realtime_ns,
		.epoch_monotonic_ns = file->start_monotonic_ns,
	};
	struct api *api = NULL;

	if (!history)
		abort();
	check(api_create(&config, &api), "api");
	report_all(file, history_reporter(history));
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		ask(api, folder, questions[i][0], questions[i][1]);
	api_destroy(api);
	history_destroy(history);
}

/* Passes on counts of samples, the first type of all of our files; a store has no other values. */
struct count_reporter {
	struct reporter reporter;
	struct reporter *to;
};

static void report_counts(struct reporter *reporter, const struct sample_event *event)
{
	const struct count_reporter *counts = (struct count_reporter *)reporter;

	for (uint64_t i = 0; !event->sample.origin && i < event->value; i++)
		counts->to->ops->report(counts->to, event);
}

static const struct reporter_ops count_ops = { .report = report_counts };

/*
 * Reads a file that the agent wrote, and writes it as folded stacks and, if it had times, as OTLP, which has
 * all data that was read.
 */
static void open_again(const struct report_file *file, const char *folder, const char *name)
{
	char path[PATH_BYTES], folded[128], otlp[128];
	const char *const names[] = { folded, otlp };
	struct opened_samples opened = { 0 };
	struct sample_store *store = make_store(true);
	struct count_reporter counts = { .reporter = { .ops = &count_ops },
					 .to = sample_store_reporter(store) };
	_cleanup_(sample_snapshot_deinit) struct sample_snapshot snapshot = { 0 };
	const struct otlp_options options = otlp_options_of(GROUP_BY_PROCESS);

	path_in(path, folder, name);
	snprintf(folded, sizeof(folded), "opened.%s.folded", name);
	snprintf(otlp, sizeof(otlp), "opened.%s.otlp", name);
	check(open_file(path, &opened), path);
	opened_samples_report_values(&opened, &counts.reporter);
	check(sample_store_take(store, &snapshot), "store");
	write_outputs(file, folder, &snapshot, names, text_ends_with(name, ".folded") ? 1 : 2, true,
		      &options);
	opened_samples_deinit(&opened);
	sample_store_destroy(store);
}

int main(int argc, char **argv)
{
	static const char *const opened[] = { "plain.folded", "lines.folded", "profile.pb.gz",
					      "process.otlp", "container.otlp" };
	/* Large, and there is one of it. */
	static struct report_file file;

	if (argc != 2) {
		fprintf(stderr, "usage: replay_reports FOLDER < FILE.reports\n");
		return 2;
	}
	report_file_read(&file, stdin);
	if (!file.sample_count)
		report_refuse(&file, "no samples");
	replay_stores(&file, argv[1]);
	replay_page(&file, argv[1]);
	for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++)
		open_again(&file, argv[1], opened[i]);
	return 0;
}
