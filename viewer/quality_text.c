/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/quality_text.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

enum {
	ROWS_MAX = 15,
	NAME_BYTES = 24,
	PATH_BYTES = 52,
};

static void json_deinit(json_t **json)
{
	json_decref(*json);
}

static unsigned long long number_of(const json_t *row, const char *key)
{
	return (unsigned long long)json_integer_value(json_object_get(row, key));
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static void append_share(struct text_builder *text, unsigned long long part,
			 unsigned long long whole)
{
	/* A share that is not whole never reads as if it were. */
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		text_builder_format(text, "  %7s", "-");
	else
		text_builder_format(text, "  %5.1f %%",
				    part < whole && percent > 99.9 ? 99.9 : percent);
}

/* What is wrong, and what would mend it, below the row. */
static void append_advice(struct text_builder *text, const json_t *row)
{
	text_builder_append(text, "\n");
	if (*text_of(row, "reason"))
		text_builder_format(text, "           %s (%llu). %s\n", text_of(row, "reason"),
				    number_of(row, "reason_count"), text_of(row, "mend"));
	if (*text_of(row, "names_reason"))
		text_builder_format(text, "           %s. %s\n", text_of(row, "names_reason"),
				    text_of(row, "names_mend"));
}

static void append_process(struct text_builder *text, const json_t *row)
{
	text_builder_format(text, "  %7llu  %-*.*s  %7llu", number_of(row, "pid"), NAME_BYTES,
			    NAME_BYTES, text_of(row, "comm"), number_of(row, "samples"));
	append_share(text, number_of(row, "complete"), number_of(row, "samples"));
	append_share(text, number_of(row, "named"), number_of(row, "frames"));
	append_advice(text, row);
}

/* Of a long path the end tells more. */
static const char *end_of_path(const char *path)
{
	size_t length = strlen(path);

	return length > PATH_BYTES ? path + length - PATH_BYTES : path;
}

static void append_binary(struct text_builder *text, const json_t *row)
{
	text_builder_format(text, "  %-*s  %7llu", PATH_BYTES, end_of_path(text_of(row, "file")),
			    number_of(row, "samples"));
	append_share(text, number_of(row, "complete"), number_of(row, "samples"));
	append_share(text, number_of(row, "named"), number_of(row, "frames"));
	append_advice(text, row);
}

static void append_rows(struct text_builder *text, const json_t *rows,
			void (*append)(struct text_builder *text, const json_t *row))
{
	size_t count = json_array_size(rows);

	for (size_t i = 0; i < count && i < ROWS_MAX; i++)
		append(text, json_array_get(rows, i));
	if (count > ROWS_MAX)
		text_builder_format(text, "  ... and %zu more\n", count - ROWS_MAX);
}

int quality_text_append(struct api *api, struct text_builder *text)
{
	const struct api_request request = { .path = "quality" };
	_cleanup_(json_deinit) json_t *answer = NULL;
	struct api_answer raw = { 0 };

	api_answer(api, &request, &raw);
	if (raw.body && raw.status == 200)
		answer = json_loadb(raw.body, raw.bytes, 0, NULL);
	free(raw.body);
	if (!answer)
		return -ENOMEM;
	text_builder_format(text,
			    "\nStacks by process, those with most to mend first\n"
			    "  %7s  %-*s  %7s  %7s  %7s\n",
			    "pid", NAME_BYTES, "process", "samples", "whole", "named");
	append_rows(text, json_object_get(answer, "processes"), append_process);
	text_builder_format(text,
			    "\nStacks by binary, those with most to mend first\n"
			    "  %-*s  %7s  %7s  %7s\n",
			    PATH_BYTES, "file", "samples", "whole", "named");
	append_rows(text, json_object_get(answer, "binaries"), append_binary);
	return text->failed ? -ENOMEM : 0;
}
