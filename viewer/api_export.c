/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/model/origins.h"
#include "reporter/autofdo.h"
#include "reporter/firefox.h"
#include "reporter/folded.h"
#include "reporter/otlp_file.h"
#include "reporter/pprof.h"
#include "reporter/report_json.h"
#include "reporter/sort_times.h"
#include "reporter/speedscope.h"
#include "reporter/stack_counts.h"
#include "viewer/api_stacks.h"
#include "viewer/api_top.h"
#include "viewer/flame_page.h"
#include "viewer/flame_svg.h"

enum {
	/*
	 * Limits of one file: distinct samples, and samples that are written with their times; both
	 * need memory while the file is made.
	 */
	EXPORT_DISTINCT_MAX = 512 << 10,
	EXPORT_TIMES_MAX = 2 << 20,
	EXPORT_MAX_BYTES = 256 << 20,
	/* Memory limit of the stacks, and of the lists for folded stacks. */
	EXPORT_STACKS_MAX_BYTES = 128 << 20,
	EXPORT_LISTS_MAX_BYTES = 128 << 20,
	/* Limit of the exported page; a live page shows fewer nodes. */
	PAGE_NODES = 20000,
	PAGE_FUNCTIONS = 5000,
	CPU_BITS = 32,
};

VECTOR_DEFINE(stored_sample_vector, struct stored_sample)
VECTOR_DEFINE(trace_vector, struct trace *)

/* As traces_equal() compares. No padding. */
struct trace_key {
	struct hash128 hash;
	uint64_t executables_hash;
};

struct export_content {
	/* Maps key and CPU to an index in stored. */
	struct hash_map indexes;
	struct stored_sample_vector stored;
	/* The stacks of the stored samples, and a map to them from struct trace_key. */
	struct trace_vector traces;
	struct hash_map known_traces;
	size_t traces_bytes;
	/* Times of the first stored sample, of the second, ...; NULL if times are not wanted. */
	uint64_t *times;
	/* The value at each time; NULL if each sample counts as one. */
	uint64_t *values;
	uint64_t samples;
};

static void content_deinit(struct export_content *content)
{
	hash_map_deinit(&content->indexes);
	hash_map_deinit(&content->known_traces);
	for (size_t i = 0; i < content->traces.count; i++)
		trace_unref(content->traces.items[i]);
	trace_vector_deinit(&content->traces);
	stored_sample_vector_deinit(&content->stored);
	free(content->times);
	free(content->values);
}

static int add_trace(struct export_content *content, struct trace *trace,
		     const struct trace_key *key)
{
	int err = trace_vector_push(&content->traces, trace_ref(trace));

	if (err) {
		trace_unref(trace);
		return err;
	}
	content->traces_bytes += trace->bytes;
	if (content->traces_bytes > EXPORT_STACKS_MAX_BYTES)
		return fail(-EINVAL,
			    "the stacks take more than %d MiB: choose a shorter time or a filter",
			    EXPORT_STACKS_MAX_BYTES >> 20);
	return hash_map_set_bytes(&content->known_traces, key, sizeof(*key), (uintptr_t)trace);
}

/* The trace of a key's stack, which @content owns. Equal stacks have the same one. */
static int find_trace(const struct question *question, uint32_t id, struct export_content *content,
		      struct trace **found)
{
	struct trace *trace = history_key_trace(&question->view.keys, id);
	struct trace_key key;
	uint64_t known;
	int err = 0;

	if (!trace)
		return -ENOMEM;
	key = (struct trace_key){ trace->hash, trace->executables_hash };
	if (hash_map_find_bytes(&content->known_traces, &key, sizeof(key), &known)) {
		*found = (struct trace *)(uintptr_t)known;
	} else {
		*found = trace;
		err = add_trace(content, trace, &key);
	}
	trace_unref(trace);
	return err;
}

static int store_sample(struct question *question, const struct history_sample *sample,
			struct export_content *content)
{
	struct stored_sample stored = { .sample = *history_view_key(&question->view, sample->key) };
	int err = find_trace(question, sample->key, content, &stored.sample.trace);

	if (err)
		return err;
	stored.sample.cpu = sample->cpu;
	return stored_sample_vector_push(&content->stored, stored);
}

static uint64_t sample_key(const struct history_sample *sample)
{
	return (uint64_t)sample->key << CPU_BITS | sample->cpu;
}

/* Samples of the agent have values if their origin has. */
static bool has_value(const struct question *question, const struct stored_sample *stored)
{
	return question->api->config.facts || sample_origins[stored->sample.origin].has_values;
}

static int count_sample(struct question *question, const struct history_sample *sample,
			struct export_content *content)
{
	uint64_t index = content->stored.count;
	int err;

	content->samples++;
	if (!hash_map_find(&content->indexes, sample_key(sample), &index)) {
		if (index == EXPORT_DISTINCT_MAX)
			return fail(-EINVAL,
				    "more than %d different samples at once: choose a shorter time",
				    EXPORT_DISTINCT_MAX);
		err = store_sample(question, sample, content);
		if (!err)
			err = hash_map_set(&content->indexes, sample_key(sample), index);
		if (err)
			return err;
	}
	content->stored.items[index].count++;
	if (has_value(question, &content->stored.items[index]))
		content->stored.items[index].value_sum += (uint64_t)sample->value;
	return 0;
}

/* Calls a function for each selected sample. Without @keeps_cpus the samples have no CPU. */
static int each_sample(struct question *question, bool keeps_cpus, struct export_content *content,
		       int (*take)(struct question *question, const struct history_sample *sample,
				   struct export_content *content))
{
	const struct selection *selection = &question->selection;
	struct history_sample sample;
	unsigned int misses;
	int more, err;

	question_seek(question, selection->from_ms, selection->to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		if (misses)
			continue;
		if (!keeps_cpus)
			sample.cpu = SAMPLE_NO_NUMBER;
		err = take(question, &sample, content);
		if (err)
			return err;
	}
	return more;
}

/* Appends the time to those of its stored sample. `count` starts again from 0 for this. */
static int put_time(struct question *question, const struct history_sample *sample,
		    struct export_content *content)
{
	struct stored_sample *stored;
	uint64_t index = 0;
	size_t position;

	(void)question;
	hash_map_find(&content->indexes, sample_key(sample), &index);
	stored = &content->stored.items[index];
	position = (size_t)(stored->times_ns - content->times) + stored->count++;
	content->times[position] = sample->time_ns;
	if (content->values)
		content->values[position] = (uint64_t)sample->value;
	return 0;
}

static int collect_times(struct question *question, bool keeps_cpus, struct export_content *content)
{
	uint64_t *next;
	int err;

	if (content->samples > EXPORT_TIMES_MAX)
		return fail(-EINVAL, "more than %d samples with their times: choose a shorter time",
			    EXPORT_TIMES_MAX);
	content->times = next = calloc(content->samples + 1, sizeof(*content->times));
	if (api_types(question->api))
		content->values = calloc(content->samples + 1, sizeof(*content->values));
	if (!next || (api_types(question->api) && !content->values))
		return -ENOMEM;
	for (size_t i = 0; i < content->stored.count; i++) {
		struct stored_sample *stored = &content->stored.items[i];

		stored->times_ns = next;
		if (content->values && has_value(question, stored))
			stored->values = content->values + (next - content->times);
		next += stored->count;
		stored->count = 0;
	}
	err = each_sample(question, keeps_cpus, content, put_time);
	for (size_t i = 0; i < content->stored.count && !err; i++) {
		const struct stored_sample *stored = &content->stored.items[i];

		size_t first = (size_t)(stored->times_ns - content->times);

		sort_times(content->times + first, content->values ? content->values + first : NULL,
			   stored->count);
	}
	return err;
}

static int compare_counts(const void *a, const void *b)
{
	const struct stored_sample *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return (one->times_ns > other->times_ns) - (one->times_ns < other->times_ns);
}

/* Collects all selected samples, the most frequent first. */
static int collect(struct question *question, bool keeps_cpus, bool keeps_times,
		   struct export_content *content)
{
	int err = each_sample(question, keeps_cpus, content, count_sample);

	if (!err && keeps_times)
		err = collect_times(question, keeps_cpus, content);
	if (!err && content->stored.count)
		qsort(content->stored.items, content->stored.count,
		      sizeof(content->stored.items[0]), compare_counts);
	return err;
}

/* --- formats --- */

/* All samples have the selected type: their counts become the sums of its values. */
static void count_values(struct export_content *content)
{
	for (size_t i = 0; i < content->stored.count; i++) {
		struct stored_sample *stored = &content->stored.items[i];

		stored->count = stored->value_sum;
		stored->sample.origin = ORIGIN_CLOCK;
	}
}

/* True if all times are selected. */
static bool is_whole(const struct selection *selection)
{
	return !selection->from_ms && selection->to_ms == UINT64_MAX;
}

static uint64_t duration_ns(const struct question *question)
{
	const struct selection *selection = &question->selection;
	uint64_t from = selection->from_ms > question->first_ms ? selection->from_ms :
								  question->first_ms;
	uint64_t to = selection->to_ms < question->end_ms ? selection->to_ms : question->end_ms;

	if (is_whole(selection) && question->api->config.facts)
		return question->api->config.facts->duration_ns;
	return to > from ? (to - from) * NS_PER_MS : 0;
}

static uint64_t start_ns(const struct question *question)
{
	uint64_t from = question->selection.from_ms;

	/* An opened profile has a start of its own, before its first sample. */
	if (question->api->config.facts && is_whole(&question->selection))
		return 0;
	return (from > question->first_ms ? from : question->first_ms) * NS_PER_MS;
}

/* 1 for an opened file without a sampling rate. */
static uint32_t samples_per_second(const struct api_config *config)
{
	return config->samples_per_second ? config->samples_per_second : 1;
}

/* Facts about the exported profile as a whole. */
struct export_info {
	struct profile_info info;
	/* For an opened profile: its facts, with the selected type as the shown one. */
	struct profile_facts facts;
	struct text_builder selection;
};

static void export_info_deinit(struct export_info *info)
{
	text_builder_deinit(&info->selection);
}

/* The parameters that chose the samples, such as "comm=nginx kind=kernel". */
static void append_selection(const struct api_request *request, struct text_builder *text)
{
	static const char *const others[] = { "format",	   "type",  "lines",	 "root",
					      "processes", "token", "base_from", "base_to" };

	for (size_t i = 0; i < request->parameter_count; i++) {
		const struct api_parameter *parameter = &request->parameters[i];
		bool is_other = false;

		for (size_t j = 0; j < sizeof(others) / sizeof(others[0]); j++)
			is_other |= !strcmp(parameter->name, others[j]);
		if (!is_other)
			text_builder_format(text, "%s%s=%s", text->length ? " " : "",
					    parameter->name, parameter->value);
	}
}

static void make_info(const struct question *question, struct export_info *made)
{
	const struct api_config *config = &question->api->config;
	const char *processes;

	*made = (struct export_info){ 0 };
	if (config->selection)
		text_builder_append(&made->selection, config->selection);
	append_selection(question->request, &made->selection);
	processes = request_parameter(question->request, "processes");
	made->info = (struct profile_info){
		.start_time_ns = config->epoch_realtime_ns + start_ns(question),
		.start_monotonic_ns = config->epoch_monotonic_ns + start_ns(question),
		.duration_ns = duration_ns(question),
		.samples_per_second = samples_per_second(config),
		.host = config->host,
		.kernel = config->kernel,
		.version = config->version,
		.selection = text_builder_text(&made->selection),
		.weight = config->weight,
		.shows_weight = !config->facts && question->type,
		.with_processes = processes && !strcmp(processes, "1"),
	};
	if (!config->facts)
		return;
	made->facts = *config->facts;
	if (!made->facts.has_time)
		made->info.start_time_ns = 0;
	made->facts.names_shown_type |= made->facts.shown_type != question->type;
	made->facts.shown_type = question->type;
	made->info.facts = &made->facts;
}

static int write_pprof(struct question *question, const struct sample_snapshot *snapshot, FILE *out)
{
	_cleanup_(export_info_deinit) struct export_info made;

	make_info(question, &made);
	return pprof_write(out, snapshot, &made.info, question->api->config.lookup);
}

static int write_speedscope(struct question *question, const struct sample_snapshot *snapshot,
			    FILE *out)
{
	_cleanup_(export_info_deinit) struct export_info made;

	make_info(question, &made);
	return speedscope_write(out, snapshot, &made.info, question->api->config.lookup);
}

static int write_firefox(struct question *question, const struct sample_snapshot *snapshot,
			 FILE *out)
{
	_cleanup_(export_info_deinit) struct export_info made;

	make_info(question, &made);
	return firefox_write(out, snapshot, &made.info, question->api->config.lookup);
}

static int merge_texts(struct question *question, const struct sample_snapshot *snapshot,
		       struct stack_counts *counts)
{
	const char *lines = request_parameter(question->request, "lines");
	int err = stack_counts_init(counts, snapshot, question->api->config.lookup,
				    lines && !strcmp(lines, "1"), EXPORT_LISTS_MAX_BYTES);

	return err == -E2BIG ?
		       fail(-EINVAL,
			    "these stacks are too large to be written at once: choose a shorter time or a filter") :
		       err;
}

static int write_svg(struct question *question, const struct sample_snapshot *snapshot, FILE *out)
{
	_cleanup_(export_info_deinit) struct export_info made = { 0 };
	struct stack_counts counts;
	int err = merge_texts(question, snapshot, &counts);

	if (err)
		return err;
	make_info(question, &made);
	err = flame_svg_write(out, &counts, snapshot, &made.info);
	stack_counts_deinit(&counts);
	return err;
}

static int write_folded(struct question *question, const struct sample_snapshot *snapshot,
			FILE *out)
{
	struct stack_counts counts;
	int err = merge_texts(question, snapshot, &counts);

	if (err)
		return err;
	folded_write_values(out, &counts, question_type(question));
	stack_counts_deinit(&counts);
	return 0;
}

static void put_fact(void *context, const char *key, const char *value)
{
	json_t *pair = json_array();

	json_array_append_new(pair, text_json(key));
	json_array_append_new(pair, text_json(value));
	json_array_append_new(context, pair);
}

json_t *about_json(const struct question *question)
{
	_cleanup_(export_info_deinit) struct export_info made = { 0 };
	json_t *about = json_array();

	make_info(question, &made);
	profile_info_describe_all(&made.info, NULL, put_fact, about);
	return about;
}

/* Writes the flame graph and the functions that the page shows. */
static int write_page(struct question *question, const struct sample_snapshot *snapshot, FILE *out)
{
	_cleanup_(free_pointer) char *text = NULL;
	json_t *answer = json_object(), *top = json_object();
	int err;

	(void)snapshot;
	put_text(answer, "host", question->api->config.host);
	if (question_has_values(question))
		put_type(question, answer);
	err = flame_json(question, PAGE_NODES, answer);
	json_object_set_new(answer, "about", about_json(question));
	json_object_set_new(answer, "top", top);
	if (!err)
		err = top_json(question, PAGE_FUNCTIONS, top);
	text = err ? NULL : question_text(question, answer);
	json_decref(answer);
	if (!text)
		return err ? err : -ENOMEM;
	return flame_page_write_json(out, text);
}

static int write_report(struct question *question, const struct sample_snapshot *snapshot,
			FILE *out)
{
	_cleanup_(export_info_deinit) struct export_info made = { 0 };
	_cleanup_(function_counts_deinit) struct function_counts counts;
	int err = 0;

	function_counts_init(&counts, question->api->config.lookup);
	for (size_t i = 0; i < snapshot->count && !err; i++)
		err = function_counts_add(&counts, &snapshot->samples[i].sample,
					  snapshot->samples[i].count);
	if (err)
		return err;
	make_info(question, &made);
	return report_json_write(out, &counts, question_has_values(question) ? NULL : snapshot,
				 &made.info,
				 question_has_values(question) ? question_type(question) : NULL,
				 NULL);
}

/* In a file, names of functions are those for people, and not those of the linker. */
static int write_autofdo(struct question *question, const struct sample_snapshot *snapshot,
			 FILE *out)
{
	_cleanup_(export_info_deinit) struct export_info made = { 0 };

	if (question->api->config.facts)
		return fail(-EINVAL,
			    "a profile for compilers can only be made while the agent samples");
	make_info(question, &made);
	return autofdo_write(out, snapshot, &made.info, question->api->config.lookup);
}

static int write_otlp(struct question *question, const struct sample_snapshot *snapshot, FILE *out)
{
	const struct api_config *config = &question->api->config;
	_cleanup_(export_info_deinit) struct export_info made = { 0 };
	const struct otlp_attribute attributes[] = { { "host.name", config->host } };
	struct otlp_window window = {
		.start_ns = config->epoch_monotonic_ns + start_ns(question),
		.end_ns = config->epoch_monotonic_ns + start_ns(question) + duration_ns(question),
		.realtime_offset_ns =
			(int64_t)(config->epoch_realtime_ns - config->epoch_monotonic_ns),
	};
	struct otlp_options options = {
		.samples_per_second = samples_per_second(config),
		.agent_version = config->version,
		.attributes = attributes,
		.attribute_count = 1,
		.lookup = config->lookup,
		.facts = config->facts,
		.with_command_lines = config->exports_command_lines,
		.info = &made.info,
	};

	make_info(question, &made);
	return otlp_file_write(out, snapshot, &window, &options);
}

static const struct format {
	const char *name;
	const char *suffix;
	const char *content_type;
	int (*write)(struct question *question, const struct sample_snapshot *snapshot, FILE *out);
	bool has_samples;
	bool has_cpus;
	bool has_times;
	/* The file has the values of all types, and not only of the selected one. */
	bool has_types;
	/* Counts are values of the selected type. */
	bool counts_values;
	/* Samples of the agent are written without their weight. */
	bool has_no_weight;
} formats[] = {
	{ "pprof", "pb.gz", "application/octet-stream", write_pprof, true, false, false, true,
	  false, false },
	{ "folded", "folded", "text/plain; charset=utf-8", write_folded, true, false, false, false,
	  true, false },
	{ "otlp", "otlp", "application/octet-stream", write_otlp, true, true, true, true, false,
	  false },
	{ "html", "html", "text/html; charset=utf-8", write_page, false, false, false, false, false,
	  false },
	{ "svg", "svg", "image/svg+xml", write_svg, true, false, false, false, true, false },
	{ "speedscope", "speedscope.json", "application/json", write_speedscope, true, false, true,
	  false, false, true },
	{ "firefox", "firefox.json", "application/json", write_firefox, true, false, true, false,
	  false, true },
	{ "report", "json", "application/json", write_report, true, false, false, false, true,
	  false },
	{ "autofdo", "afdo.txt", "text/plain; charset=utf-8", write_autofdo, true, false, false,
	  false, true, true },
};

enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

/* Only letters, digits, dots and dashes, because the name goes into a header. */
static void name_file(const struct question *question, const char *suffix,
		      struct api_answer *answer)
{
	const struct api_config *config = &question->api->config;
	time_t start = (time_t)((config->epoch_realtime_ns + start_ns(question)) / 1000000000);
	char host[64] = "", moment[32] = "";
	struct tm tm;

	snprintf(host, sizeof(host), "%s", config->host);
	for (char *c = host; *c; c++) {
		bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9') || *c == '.' || *c == '-';

		*c = is_plain ? *c : '-';
	}
	if (gmtime_r(&start, &tm))
		strftime(moment, sizeof(moment), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(answer->file_name, sizeof(answer->file_name), "allframes-%s-%s.%s", host, moment,
		 suffix);
}

/* --- the file's bytes --- */

VECTOR_DEFINE(char_vector, char)

struct body {
	/* Ends with a NUL. */
	struct char_vector bytes;
	/* True if the limit was exceeded. */
	bool is_full;
};

static void body_deinit(struct body *body)
{
	char_vector_deinit(&body->bytes);
}

/* A write function for fopencookie(), which takes 0 as an error. */
static ssize_t body_append(void *cookie, const char *bytes, size_t count)
{
	struct body *body = cookie;
	struct char_vector *written = &body->bytes;

	body->is_full |= count > EXPORT_MAX_BYTES - written->count;
	if (body->is_full || char_vector_reserve(written, written->count + count + 1))
		return 0;
	memcpy(written->items + written->count, bytes, count);
	written->count += count;
	written->items[written->count] = 0;
	return (ssize_t)count;
}

/* Lets @format write the body, completely or not at all. */
static int write_body(struct question *question, const struct format *format,
		      const struct sample_snapshot *snapshot, struct body *body)
{
	const cookie_io_functions_t functions = { .write = body_append };
	FILE *out = char_vector_push(&body->bytes, 0) ? NULL : fopencookie(body, "w", functions);
	bool is_written;
	int err;

	if (!out)
		return -ENOMEM;
	body->bytes.count = 0;
	err = format->write(question, snapshot, out);
	is_written = !fflush(out) && !ferror(out);
	fclose(out);
	if (body->is_full)
		return fail(
			-EINVAL,
			"this would be a file of more than %d MiB: choose a shorter time or a filter",
			EXPORT_MAX_BYTES >> 20);
	return err || is_written ? err : -ENOMEM;
}

int answer_export(struct question *question, struct api_answer *answer)
{
	_cleanup_(content_deinit) struct export_content content = { 0 };
	const char *wanted = request_parameter(question->request, "format");
	const struct format *format = formats;
	struct sample_snapshot snapshot = { 0 };
	_cleanup_(body_deinit) struct body body = { 0 };
	int err = 0;

	while (format < formats + FORMAT_COUNT && (!wanted || strcmp(wanted, format->name)))
		format++;
	if (format == formats + FORMAT_COUNT)
		return fail(
			-EINVAL,
			"format is pprof, folded, otlp, html, svg, speedscope, firefox, report or autofdo");
	question->all_types = format->has_types;
	if (format->has_no_weight && !question->api->config.facts)
		question->type = 0;
	if (format->has_samples)
		err = collect(question, format->has_cpus, format->has_times, &content);
	if (question_has_values(question) && format->counts_values)
		count_values(&content);
	snapshot.samples = content.stored.items;
	snapshot.count = content.stored.count;
	if (!err)
		err = write_body(question, format, &snapshot, &body);
	if (err)
		return err;
	answer->body = body.bytes.items;
	answer->bytes = body.bytes.count;
	body.bytes = (struct char_vector){ 0 };
	answer->content_type = format->content_type;
	name_file(question, format->suffix, answer);
	return 0;
}
