/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/quality_text.h"

#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "viewer/quality.h"

enum {
	ROWS_MAX = 15,
	NAME_BYTES = 24,
	PATH_BYTES = 52,
};

static void append_share(struct text_builder *text, uint64_t part, uint64_t whole)
{
	/* Rounding never makes an incomplete share look like 100 %. */
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		text_builder_format(text, "  %7s", "-");
	else
		text_builder_format(text, "  %5.1f %%",
				    part < whole && percent > 99.9 ? 99.9 : percent);
}

static void append_reason(struct text_builder *text, const struct quality_reason *reason)
{
	if (!*reason->text)
		return;
	text_builder_format(text, "           %s", reason->text);
	if (reason->count)
		text_builder_format(text, " (%llu)", (unsigned long long)reason->count);
	text_builder_format(text, ". %s\n", reason->mend);
}

static void append_process(struct text_builder *text, const struct process_quality *row)
{
	struct quality_reason reason = quality_reason(row->reasons);

	text_builder_format(text, "  %7u  %-*.*s  %7llu", row->key->pid, NAME_BYTES, NAME_BYTES,
			    row->key->process_comm, (unsigned long long)row->samples);
	append_share(text, row->complete, row->samples);
	append_share(text, row->named, row->frames);
	text_builder_append(text, "\n");
	append_reason(text, &reason);
}

/* The end of a long path tells more than its beginning. */
static const char *end_of_path(const char *path)
{
	size_t length = strlen(path);

	return length > PATH_BYTES ? path + length - PATH_BYTES : path;
}

static void append_binary(struct text_builder *text, const struct binary_quality *row)
{
	struct quality_reason reason = quality_reason(row->reasons);
	struct quality_reason names_reason = quality_names_reason(row);

	text_builder_format(text, "  %-*s  %7llu", PATH_BYTES, end_of_path(row->binary->path),
			    (unsigned long long)row->samples);
	append_share(text, row->complete, row->samples);
	append_share(text, row->named, row->frames);
	text_builder_append(text, "\n");
	append_reason(text, &reason);
	append_reason(text, &names_reason);
}

static void append_more(struct text_builder *text, size_t count)
{
	if (count > ROWS_MAX)
		text_builder_format(text, "  ... and %zu more\n", count - ROWS_MAX);
}

static void append_quality(struct text_builder *text, const struct quality *quality)
{
	text_builder_format(text,
			    "\nStacks by process, those with most to mend first\n"
			    "  %7s  %-*s  %7s  %7s  %7s\n",
			    "pid", NAME_BYTES, "process", "samples", "whole", "named");
	for (size_t i = 0; i < quality->processes.count && i < ROWS_MAX; i++)
		append_process(text, &quality->processes.items[i]);
	append_more(text, quality->processes.count);
	text_builder_format(text,
			    "\nStacks by binary, those with most to mend first\n"
			    "  %-*s  %7s  %7s  %7s\n",
			    PATH_BYTES, "file", "samples", "whole", "named");
	for (size_t i = 0; i < quality->binaries.count && i < ROWS_MAX; i++)
		append_binary(text, &quality->binaries.items[i]);
	append_more(text, quality->binaries.count);
}

int quality_text_append(struct api *api, struct text_builder *text)
{
	/* A request that selects everything. */
	const struct api_request request = { .path = "quality" };
	_cleanup_(quality_deinit) struct quality quality = { 0 };
	struct question question;
	int err = question_init(&question, api, &request);

	if (err)
		return err;
	err = quality_count(&quality, &question);
	if (!err)
		append_quality(text, &quality);
	question_deinit(&question);
	return err || text->failed ? -ENOMEM : 0;
}
