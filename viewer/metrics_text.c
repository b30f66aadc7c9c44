/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/text.h"

/* Room for a unit behind the name. */
enum { NAME_BYTES = METRIC_FAMILY_NAME_BYTES + 16 };

/* --- names --- */

/* The ending of names for a unit; "" if names do not have it. */
static const char *unit_word(const char *unit)
{
	if (!strcmp(unit, "s"))
		return "seconds";
	if (!strcmp(unit, "J"))
		return "joules";
	return !strcmp(unit, "By") ? "bytes" : "";
}

/* Writes the name without "_total". */
static void make_name(const struct metric_family *family, char name[NAME_BYTES])
{
	const char *unit = unit_word(family->unit);

	if (family->prometheus_name) {
		snprintf(name, NAME_BYTES, "%s", family->prometheus_name);
		return;
	}
	snprintf(name, NAME_BYTES, "%s%s%s", family->name, *unit ? "_" : "", unit);
	for (char *at = name; *at; at++)
		if (*at == '.')
			*at = '_';
}

/* --- text --- */

/* Appends text with what the formats escape: a backslash, a line end, and a quotation mark if @has_quotes. */
static void append_escaped(struct text_builder *text, const char *from, bool has_quotes)
{
	struct text_builder clean = { 0 };

	/* It is valid UTF-8 without line ends then. */
	text_builder_append_name(&clean, from);
	for (const char *at = text_builder_text(&clean); *at; at++) {
		if (*at == '\\' || (*at == '"' && has_quotes))
			text_builder_append(text, "\\");
		text_builder_append_bytes(text, at, 1);
	}
	text->failed |= clean.failed;
	text_builder_deinit(&clean);
}

static void append_family(struct text_builder *text, const struct metric_family *family,
			  const char *name, bool is_open)
{
	const char *unit = unit_word(family->unit);
	bool is_counter = family->kind == FAMILY_COUNTER;
	/* In OpenMetrics a family of counters has the name without the ending. */
	const char *ending = is_counter && !is_open ? "_total" : "";
	char first = family->meaning[0];

	if (first >= 'a' && first <= 'z')
		first = (char)(first - 'a' + 'A');
	text_builder_format(text, "# HELP %s%s %c", name, ending, first);
	append_escaped(text, family->meaning + 1, is_open);
	text_builder_format(text, "\n# TYPE %s%s %s\n", name, ending,
			    is_counter ? "counter" : "gauge");
	if (is_open && *unit)
		text_builder_format(text, "# UNIT %s %s\n", name, unit);
}

static void append_row(struct text_builder *text, const struct metric_row *row, const char *name,
		       bool is_counter)
{
	text_builder_format(text, "%s%s", name, is_counter ? "_total" : "");
	for (uint32_t i = 0; i < row->label_count; i++) {
		text_builder_format(text, "%s%s=\"", i ? "," : "{", row->labels[i].key);
		append_escaped(text, row->labels[i].value, true);
		text_builder_append(text, "\"");
	}
	text_builder_append(text, row->label_count ? "} " : " ");
	if (row->is_fraction)
		text_builder_format(text, "%.17g\n", row->fraction);
	else
		text_builder_format(text, "%" PRIu64 "\n", row->number);
}

void metrics_text_append(struct text_builder *text, const struct metric_table *table, bool is_open)
{
	for (size_t i = 0; i < table->families.count; i++) {
		const struct metric_family *family = &table->families.items[i];
		char name[NAME_BYTES];

		make_name(family, name);
		append_family(text, family, name, is_open);
		for (size_t j = 0; j < family->row_count; j++)
			append_row(text, &table->rows.items[family->first_row + j], name,
				   family->kind == FAMILY_COUNTER);
	}
	if (is_open)
		text_builder_append(text, "# EOF\n");
	text->failed |= table->failed;
}

/* --- the header Accept --- */

/* A range of types such as "text/plain;version=0.0.4;q=0.5". */
struct media_range {
	char type[64];
	char version[16];
	double quality;
};

/* Reads "name=value" from @start to @end. */
static void read_parameter(struct media_range *range, const char *start, const char *end)
{
	text_trim(&start, &end);
	if (end - start >= 2 && !strncasecmp(start, "q=", 2))
		range->quality = strtod(start + 2, NULL);
	else if (end - start >= 8 && !strncasecmp(start, "version=", 8))
		snprintf(range->version, sizeof(range->version), "%.*s", (int)(end - start - 8),
			 start + 8);
}

/* Reads the range at @accept, and returns the start of the next one. */
static const char *read_range(const char *accept, struct media_range *range)
{
	const char *end = accept + strcspn(accept, ",");
	const char *next = accept + strcspn(accept, ";,");
	const char *start = accept, *stop = next;

	*range = (struct media_range){ .quality = 1 };
	text_trim(&start, &stop);
	snprintf(range->type, sizeof(range->type), "%.*s", (int)(stop - start), start);
	while (next < end) {
		start = next + 1;
		next = start + strcspn(start, ";,");
		read_parameter(range, start, next);
	}
	return *end ? end + 1 : end;
}

bool metrics_text_is_open(const char *accept)
{
	double open = 0, plain = 0;

	while (accept && *accept) {
		struct media_range range;

		accept = read_range(accept, &range);
		if (!strcasecmp(range.type, "application/openmetrics-text") &&
		    (!*range.version || !strcmp(range.version, "1.0.0")) && range.quality > open)
			open = range.quality;
		else if (!strcasecmp(range.type, "text/plain") && range.quality > plain)
			plain = range.quality;
	}
	return open > 0 && open >= plain;
}
