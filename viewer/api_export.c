/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "reporter/flame_page.h"
#include "reporter/folded.h"
#include "reporter/otlp_file.h"
#include "reporter/pprof.h"
#include "reporter/sort_times.h"
#include "reporter/stack_counts.h"

enum {
	/* Of the samples of one file: each takes 24 bytes while it is made. */
	EXPORT_SAMPLES_MAX = 8 << 20,
};

VECTOR_DEFINE(export_sample_vector, struct history_sample)
VECTOR_DEFINE(stored_sample_vector, struct stored_sample)

struct export_content {
	struct export_sample_vector samples;
	struct stored_sample_vector stored;
	uint64_t *times;
};

static void content_deinit(struct export_content *content)
{
	export_sample_vector_deinit(&content->samples);
	stored_sample_vector_deinit(&content->stored);
	free(content->times);
}

static int collect(struct question *question, struct export_content *content)
{
	const struct selection *selection = &question->selection;
	struct history_sample sample;
	unsigned int misses;
	int more, err;

	question_seek(question, selection->from_ms, selection->to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		if (misses)
			continue;
		if (content->samples.count == EXPORT_SAMPLES_MAX)
			return fail(-EINVAL, "more than %d samples at once: choose a shorter time",
				    EXPORT_SAMPLES_MAX);
		err = export_sample_vector_push(&content->samples, sample);
		if (err)
			return err;
	}
	return more;
}

static int compare_samples(const void *a, const void *b)
{
	const struct history_sample *one = a, *other = b;

	if (one->key != other->key)
		return one->key < other->key ? -1 : 1;
	if (one->cpu != other->cpu)
		return one->cpu < other->cpu ? -1 : 1;
	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

static int compare_counts(const void *a, const void *b)
{
	const struct stored_sample *one = a, *other = b;

	return (one->count < other->count) - (one->count > other->count);
}

static struct stored_sample stored_sample(const struct question *question,
					  const struct history_sample *sample,
					  const uint64_t *times)
{
	const struct history_key *key = history_view_key(&question->view, sample->key);

	return (struct stored_sample){
		.trace = key->trace,
		.process = key->process,
		.process_comm = key->process_comm,
		.thread_comm = key->thread_comm,
		.labels = key->labels,
		.pid = key->pid,
		.tid = key->tid,
		.cpu = sample->cpu,
		.times_ns = times,
	};
}

/* One for all samples of a key and a CPU. */
static int store(const struct question *question, struct export_content *content)
{
	const struct export_sample_vector *samples = &content->samples;
	const struct history_sample *before = NULL;
	int err = 0;

	content->times = calloc(samples->count + 1, sizeof(*content->times));
	if (!content->times)
		return -ENOMEM;
	if (samples->count)
		qsort(samples->items, samples->count, sizeof(samples->items[0]), compare_samples);
	for (size_t i = 0; i < samples->count && !err; i++) {
		const struct history_sample *sample = &samples->items[i];

		content->times[i] = sample->time_ns;
		if (!before || before->key != sample->key || before->cpu != sample->cpu)
			err = stored_sample_vector_push(&content->stored,
							stored_sample(question, sample,
								      &content->times[i]));
		if (!err)
			content->stored.items[content->stored.count - 1].count++;
		before = sample;
	}
	if (content->stored.count)
		qsort(content->stored.items, content->stored.count,
		      sizeof(content->stored.items[0]), compare_counts);
	return err;
}

/* --- formats --- */

static int write_stacks(const struct question *question, const struct sample_snapshot *snapshot,
			bool is_page, FILE *out)
{
	const char *lines = request_parameter(question->request, "lines");
	struct stack_counts counts;
	int err = stack_counts_init(&counts, snapshot, question->api->config.lookup,
				    lines && !strcmp(lines, "1"));

	if (err)
		return err;
	if (is_page)
		err = flame_page_write(out, &counts);
	else
		folded_write(out, &counts);
	stack_counts_deinit(&counts);
	return err;
}

static uint64_t duration_ns(const struct question *question)
{
	const struct selection *selection = &question->selection;
	uint64_t from = selection->from_ms > question->first_ms ? selection->from_ms :
								  question->first_ms;
	uint64_t to = selection->to_ms < question->end_ms ? selection->to_ms : question->end_ms;

	return to > from ? (to - from) * NS_PER_MS : 0;
}

static uint64_t start_ns(const struct question *question)
{
	uint64_t from = question->selection.from_ms;

	return (from > question->first_ms ? from : question->first_ms) * NS_PER_MS;
}

/* Of a file that does not say. */
static uint32_t samples_per_second(const struct api_config *config)
{
	return config->samples_per_second ? config->samples_per_second : 1;
}

static int write_pprof(const struct question *question, const struct sample_snapshot *snapshot,
		       FILE *out)
{
	const struct api_config *config = &question->api->config;
	struct profile_info info = {
		.start_time_ns = config->epoch_realtime_ns + start_ns(question),
		.start_monotonic_ns = config->epoch_monotonic_ns + start_ns(question),
		.duration_ns = duration_ns(question),
		.samples_per_second = samples_per_second(config),
	};

	return pprof_write(out, snapshot, &info, config->lookup);
}

static int write_otlp(const struct question *question, const struct sample_snapshot *snapshot,
		      FILE *out)
{
	const struct api_config *config = &question->api->config;
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
	};

	return otlp_file_write(out, snapshot, &window, &options);
}

static const struct {
	const char *format;
	const char *suffix;
	const char *content_type;
} formats[] = {
	{ "pprof", "pb.gz", "application/octet-stream" },
	{ "folded", "folded", "text/plain; charset=utf-8" },
	{ "otlp", "otlp", "application/octet-stream" },
	{ "html", "html", "text/html; charset=utf-8" },
};

enum { FORMAT_PPROF, FORMAT_FOLDED, FORMAT_OTLP, FORMAT_HTML, FORMAT_COUNT };

static int write_format(const struct question *question, const struct sample_snapshot *snapshot,
			int format, FILE *out)
{
	switch (format) {
	case FORMAT_PPROF:
		return write_pprof(question, snapshot, out);
	case FORMAT_OTLP:
		return write_otlp(question, snapshot, out);
	default:
		return write_stacks(question, snapshot, format == FORMAT_HTML, out);
	}
}

/* Letters, digits, dots and dashes only: it goes into a header. */
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

int answer_export(struct question *question, struct api_answer *answer)
{
	_cleanup_(content_deinit) struct export_content content = { 0 };
	const char *wanted = request_parameter(question->request, "format");
	struct sample_snapshot snapshot = { 0 };
	int format = 0, err;
	FILE *out;

	while (format < FORMAT_COUNT && (!wanted || strcmp(wanted, formats[format].format)))
		format++;
	if (format == FORMAT_COUNT)
		return fail(-EINVAL, "format is pprof, folded, otlp or html");
	err = collect(question, &content);
	if (!err)
		err = store(question, &content);
	out = err ? NULL : open_memstream(&answer->body, &answer->bytes);
	if (!out)
		return err ? err : -ENOMEM;
	snapshot.samples = content.stored.items;
	snapshot.count = content.stored.count;
	err = write_format(question, &snapshot, format, out);
	if (ferror(out) && !err)
		err = -ENOMEM;
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err) {
		free(answer->body);
		*answer = (struct api_answer){ .status = 200 };
		return err;
	}
	answer->content_type = formats[format].content_type;
	name_file(question, formats[format].suffix, answer);
	return 0;
}
