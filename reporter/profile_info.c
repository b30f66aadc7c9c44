/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/profile_info.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/model/origins.h"

const struct value_type *profile_info_shown_type(const struct profile_info *info)
{
	if (info->facts)
		return &info->facts->types[info->facts->shown_type];
	return info->shows_weight ? sample_weight_type(info->weight) : NULL;
}

/* Appends the time as RFC 3339 has it. */
static void append_time(struct text_builder *text, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
	char moment[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(moment, sizeof(moment), "%Y-%m-%dT%H:%M:%SZ", &tm);
	text_builder_append(text, moment);
}

static bool is_set(const char *text)
{
	return text && *text;
}

static void append_quality(struct text_builder *text, const struct sample_snapshot *snapshot)
{
	uint64_t samples = 0, complete = 0;

	for (size_t i = 0; i < snapshot->count; i++) {
		/* A weight is no further sample. */
		if (origin_is_weight(snapshot->samples[i].sample.origin))
			continue;
		samples += snapshot->samples[i].count;
		if (snapshot->samples[i].sample.trace->is_complete)
			complete += snapshot->samples[i].count;
	}
	text_builder_format(text, "%llu of %llu stacks are complete", (unsigned long long)complete,
			    (unsigned long long)samples);
}

/* Passes the text with its key, and empties it. */
static void take_text(struct text_builder *text, const char *key, profile_info_line *take,
		      void *context)
{
	if (!text->failed && text->length)
		take(context, key, text_builder_text(text));
	text_builder_clear(text);
}

void profile_info_describe(const struct profile_info *info, const struct sample_snapshot *snapshot,
			   profile_info_line *take, void *context)
{
	struct text_builder text = { 0 };

	if (info->facts) {
		for (size_t i = 0; i < info->facts->comment_count; i++)
			take(context, "comment", info->facts->comments[i]);
		return;
	}
	/* Without a host nobody has said where the profile comes from. */
	if (!is_set(info->host))
		return;
	text_builder_append_name(&text, info->host);
	take_text(&text, "host", take, context);
	if (is_set(info->kernel))
		text_builder_format(&text, "Linux %s", info->kernel);
	take_text(&text, "kernel", take, context);
	append_time(&text, info->start_time_ns);
	take_text(&text, "start", take, context);
	text_builder_format(&text, "%.3f s", (double)info->duration_ns / NS_PER_SECOND);
	take_text(&text, "duration", take, context);
	text_builder_format(&text, "%u samples per second and CPU", info->samples_per_second);
	take_text(&text, "rate", take, context);
	if (is_set(info->selection))
		text_builder_append_name(&text, info->selection);
	take_text(&text, "selection", take, context);
	if (snapshot)
		append_quality(&text, snapshot);
	take_text(&text, "quality", take, context);
	if (is_set(info->version))
		text_builder_format(&text, "allframes %s", info->version);
	take_text(&text, "agent", take, context);
	text_builder_deinit(&text);
}

const char *profile_info_key(const char *text)
{
	static const char *const keys[] = { "host", "kernel",	 "start",   "duration",
					    "rate", "selection", "quality", "agent",
					    "tool", "period",	 "comment" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t length = strlen(keys[i]);

		if (!strncmp(text, keys[i], length) && !strncmp(text + length, ": ", 2))
			return keys[i];
	}
	return NULL;
}

static bool has_comment(const struct profile_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->comment_count; i++) {
		const char *known = profile_info_key(facts->comments[i]);

		if (known && !strcmp(known, key))
			return true;
	}
	return false;
}

void profile_info_describe_all(const struct profile_info *info,
			       const struct sample_snapshot *snapshot, profile_info_line *take,
			       void *context)
{
	const struct profile_facts *facts = info->facts;
	struct text_builder text = { 0 };

	if (!facts) {
		profile_info_describe(info, snapshot, take, context);
		return;
	}
	if (is_set(info->host) && !has_comment(facts, "host"))
		text_builder_append_name(&text, info->host);
	take_text(&text, "host", take, context);
	if (facts->has_time && !has_comment(facts, "start"))
		append_time(&text, info->start_time_ns);
	take_text(&text, "start", take, context);
	if (facts->duration_ns && !has_comment(facts, "duration"))
		text_builder_format(&text, "%.3f s", (double)facts->duration_ns / NS_PER_SECOND);
	take_text(&text, "duration", take, context);
	if (facts->period_type && !has_comment(facts, "period")) {
		text_builder_format(&text, "%lld ", (long long)facts->period);
		text_builder_append_name(&text, facts->period_unit);
		text_builder_append(&text, " of ");
		text_builder_append_name(&text, facts->period_type);
	}
	take_text(&text, "period", take, context);
	text_builder_deinit(&text);
	for (size_t i = 0; i < facts->comment_count; i++) {
		const char *comment = facts->comments[i], *key = profile_info_key(comment);

		take(context, key ? key : "comment", key ? comment + strlen(key) + 2 : comment);
	}
}

struct comment_maker {
	profile_info_comment *take;
	void *context;
	struct text_builder text;
	bool failed;
};

static void make_comment(void *context, const char *key, const char *value)
{
	struct comment_maker *maker = context;

	text_builder_clear(&maker->text);
	if (strcmp(key, "comment")) {
		text_builder_append(&maker->text, key);
		text_builder_append(&maker->text, ": ");
	}
	text_builder_append(&maker->text, value);
	if (maker->text.failed)
		maker->failed = true;
	else
		maker->take(maker->context, text_builder_text(&maker->text));
}

int profile_info_comments(const struct profile_info *info, const struct sample_snapshot *snapshot,
			  profile_info_comment *take, void *context)
{
	struct comment_maker maker = { .take = take, .context = context };

	profile_info_describe(info, snapshot, make_comment, &maker);
	text_builder_deinit(&maker.text);
	return maker.failed ? -ENOMEM : 0;
}

static void write_line(void *context, const char *comment)
{
	fprintf(context, "# %s\n", comment);
}

int profile_info_write_lines(FILE *out, const struct profile_info *info,
			     const struct sample_snapshot *snapshot)
{
	return profile_info_comments(info, snapshot, write_line, out);
}

void profile_info_append_name(const struct profile_info *info, struct text_builder *text)
{
	bool has_time = info->start_time_ns && (!info->facts || info->facts->has_time);

	if (is_set(info->host))
		text_builder_append_name(text, info->host);
	if (has_time && is_set(info->host))
		text_builder_append(text, ", ");
	if (has_time)
		append_time(text, info->start_time_ns);
	else if (!is_set(info->host))
		text_builder_append(text, "profile");
}
