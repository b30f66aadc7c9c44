/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	/* Fractions of values are kept to so many decimals. */
	FRACTION_DECIMALS = 6,
	/* How many bytes of stacks may be made per byte that may be stored. */
	STACKS_PER_STORED = 8,
};

uint32_t json_reader_root(struct json_reader *reader, const char *key)
{
	return json_member(&reader->index, 0, key);
}

const char *json_reader_text(struct json_reader *reader, uint32_t object, const char *key)
{
	const char *text = json_string_at(&reader->index, json_member(&reader->index, object, key));

	return text ? text : "";
}

double json_reader_number(struct json_reader *reader, uint32_t object, const char *key,
			  double otherwise)
{
	return json_number(&reader->index, json_member(&reader->index, object, key), otherwise);
}

int json_reader_add_fact(struct json_reader *reader, const char *key, const char *value)
{
	char comment[FACT_MAX_BYTES];

	if (!strcmp(key, "tool"))
		return 0;
	if (!strcmp(key, "comment"))
		snprintf(comment, sizeof(comment), "%s", value);
	else
		snprintf(comment, sizeof(comment), "%s: %s", key, value);
	return profile_facts_add_comment(&reader->opened->facts, comment);
}

int64_t json_whole(double number)
{
	if (isnan(number))
		return 0;
	if (number >= 0x1p62 || number <= -0x1p62)
		return number > 0 ? INT64_MAX / 2 : -(INT64_MAX / 2);
	return llround(number);
}

bool json_has_fraction(const struct json_index *index, uint32_t array)
{
	for (uint32_t i = json_first(index, array); i != JSON_NONE;
	     i = json_next(index, array, i)) {
		double number = json_number(index, i, 0);

		if (number != floor(number))
			return true;
	}
	return false;
}

int json_reader_set_type(struct json_reader *reader, const char *type, const char *unit,
			 bool has_fractions)
{
	int err = opened_samples_add_type(reader->opened, type, unit,
					  has_fractions ? FRACTION_DECIMALS : 0, &reader->type);

	if (!err)
		reader->scale =
			(double)value_type_scale(&reader->opened->facts.types[reader->type]);
	return err;
}

int json_reader_push(struct json_reader *reader, const struct json_function *function)
{
	const struct frame frame = opened_frame_make(
		function->mapping ? function->mapping : &reader->nowhere, function->kind,
		*function->name ? function->name : "(anonymous)", &function->marks, function->file,
		json_whole(function->line), json_whole(function->column));

	return opened_stack_push(&reader->stack, &frame);
}

int json_reader_put(struct json_reader *reader, struct sample *sample, uint64_t time_ns,
		    double value)
{
	int err;

	sample->trace = opened_stack_finish(&reader->stack);
	if (!sample->trace)
		return -ENOMEM;
	/* A few bytes of a file can make a large stack again and again. */
	err = opened_samples_spend(reader->opened, sample->trace->bytes / STACKS_PER_STORED);
	if (!err)
		err = opened_samples_put(reader->opened, sample, reader->type, time_ns,
					 json_whole(value * reader->scale));
	trace_unref(sample->trace);
	return err;
}
