/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/profile_difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/significance.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

VECTOR_DEFINE(sum_vector, struct difference_sum)

/* The profile that is added to the difference. */
struct side_reader {
	struct profile_difference *difference;
	const struct opened_samples *opened;
	enum difference_side side;
	/* The type whose values are compared, and the one that counts samples, if there is one. */
	uint32_t type;
	bool has_count_type;
	uint32_t count_type;
	/* By the sample's id in the table. */
	struct sum_vector sums;
	/* Functions of the current stack, each once. */
	struct number_vector functions;
	struct text_builder text;
};

/* --- types --- */

static bool is_time(const struct value_type *type)
{
	static const char *const units[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(type->unit, units[i]))
			return true;
	return false;
}

/* Numbers of objects or of bytes are no samples: each is not independent of the others. */
static bool is_of_samples(const struct value_type *type)
{
	return !strcmp(type->unit, "count") && !type->decimals &&
	       (!strcmp(type->type, "samples") || !strcmp(type->type, "sample"));
}

static int find_type(struct side_reader *reader, const struct value_type *wanted)
{
	const struct profile_facts *facts = &reader->opened->facts;

	for (uint32_t i = 0; i < facts->type_count; i++) {
		if (is_of_samples(&facts->types[i]) && !reader->has_count_type) {
			reader->has_count_type = true;
			reader->count_type = i;
		}
	}
	for (uint32_t i = 0; i < facts->type_count; i++) {
		const struct value_type *type = &facts->types[i];

		if (strcmp(type->type, wanted->type) || strcmp(type->unit, wanted->unit) ||
		    type->decimals != wanted->decimals)
			continue;
		reader->type = i;
		return 0;
	}
	return fail(-EBADMSG, "the second profile has no values of %s in %s, as the first has",
		    wanted->type, wanted->unit);
}

/* --- sums --- */

/* Sums of hostile values wrap. */
static void add_value(int64_t *to, int64_t value)
{
	*to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

static const struct sample *sample_of(const struct side_reader *reader, uint32_t id)
{
	return &sample_table_at(reader->opened->table.blocks.items, id)->sample;
}

static int sum_samples(struct side_reader *reader)
{
	const struct opened_moment_vector *moments = &reader->opened->moments;

	for (size_t i = 0; i < moments->count; i++) {
		const struct opened_moment *moment = &moments->items[i];
		uint8_t type = sample_of(reader, moment->sample)->origin;
		struct difference_sum *sum;

		while (reader->sums.count <= moment->sample)
			if (sum_vector_push(&reader->sums, (struct difference_sum){ 0 }))
				return -ENOMEM;
		sum = &reader->sums.items[moment->sample];
		if (type == reader->type)
			add_value(&sum->value, moment->value);
		if (reader->has_count_type && type == reader->count_type && moment->value > 0)
			sum->samples += (uint64_t)moment->value;
	}
	return 0;
}

static int find_function(struct side_reader *reader, uint32_t *index)
{
	struct profile_difference *difference = reader->difference;
	const char *name = text_builder_text(&reader->text);
	uint64_t found = difference->functions.count;
	struct function_difference added = { 0 };
	int err;

	if (reader->text.failed)
		return -ENOMEM;
	if (!hash_map_find_bytes(&difference->indexes, name, reader->text.length, &found)) {
		added.name = strdup(name);
		err = added.name ? function_difference_vector_push(&difference->functions, added) :
				   -ENOMEM;
		if (err) {
			free(added.name);
			return err;
		}
		err = hash_map_set_bytes(&difference->indexes, name, reader->text.length, found);
		if (err)
			return err;
	}
	*index = (uint32_t)found;
	return 0;
}

/* Lists the functions of the stack, innermost first, each once. */
static int list_functions(struct side_reader *reader, const struct trace *trace)
{
	int err = 0;

	reader->functions.count = 0;
	for (uint32_t i = 0; i < trace->frame_count && !err; i++) {
		struct frame frame = trace_frame(trace, i);
		struct named_frame names[FRAME_MAX_NAMES];
		size_t known = 0;
		uint32_t index = 0;

		name_frame(&frame, NULL, names);
		text_builder_clear(&reader->text);
		append_frame_name(&reader->text, &names[0]);
		if (frame.kind == FRAME_KERNEL)
			text_builder_append(&reader->text, "_[k]");
		err = find_function(reader, &index);
		while (known < reader->functions.count && reader->functions.items[known] != index)
			known++;
		if (!err && known == reader->functions.count)
			err = number_vector_push(&reader->functions, index);
	}
	return err;
}

static void add_sum(struct difference_sum *to, const struct difference_sum *sum)
{
	add_value(&to->value, sum->value);
	to->samples += sum->samples;
}

static int add_sample(struct side_reader *reader, uint32_t id)
{
	const struct difference_sum *sum = &reader->sums.items[id];
	struct function_difference *functions;
	int err;

	if (!sum->value && !sum->samples)
		return 0;
	add_sum(&reader->difference->all[reader->side], sum);
	err = list_functions(reader, sample_of(reader, id)->trace);
	if (err)
		return err;
	functions = reader->difference->functions.items;
	for (size_t i = 0; i < reader->functions.count; i++) {
		struct function_difference *function = &functions[reader->functions.items[i]];

		add_sum(&function->total[reader->side], sum);
		if (!i)
			add_sum(&function->self[reader->side], sum);
	}
	return 0;
}

static int add_side(struct profile_difference *difference, const struct opened_samples *opened,
		    enum difference_side side)
{
	struct side_reader reader = { .difference = difference, .opened = opened, .side = side };
	int err = find_type(&reader, difference->type);

	if (!err)
		err = sum_samples(&reader);
	for (uint32_t i = 0; i < reader.sums.count && !err; i++)
		err = add_sample(&reader, i);
	difference->has_samples &= reader.has_count_type && difference->all[side].samples;
	sum_vector_deinit(&reader.sums);
	number_vector_deinit(&reader.functions);
	text_builder_deinit(&reader.text);
	return err;
}

/* --- changes --- */

double profile_difference_change(const struct profile_difference *difference,
				 const struct difference_sum sums[DIFFERENCE_SIDES])
{
	double before = (double)difference->all[DIFFERENCE_BEFORE].value;
	double after = difference->has_shares ? (double)difference->all[DIFFERENCE_AFTER].value :
						before;

	if (!(before > 0) || !(after > 0))
		return 0;
	return (double)sums[DIFFERENCE_AFTER].value / after -
	       (double)sums[DIFFERENCE_BEFORE].value / before;
}

double profile_difference_z(const struct profile_difference *difference,
			    const struct difference_sum sums[DIFFERENCE_SIDES])
{
	if (!difference->has_samples)
		return 0;
	return share_significance(sums[DIFFERENCE_AFTER].samples,
				  difference->all[DIFFERENCE_AFTER].samples,
				  sums[DIFFERENCE_BEFORE].samples,
				  difference->all[DIFFERENCE_BEFORE].samples);
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct profile_difference *difference = context;
	const struct function_difference *one = a, *other = b;
	double self = fabs(profile_difference_change(difference, one->self));
	double other_self = fabs(profile_difference_change(difference, other->self));
	double total = fabs(profile_difference_change(difference, one->total));
	double other_total = fabs(profile_difference_change(difference, other->total));

	if (self != other_self)
		return self < other_self ? 1 : -1;
	if (total != other_total)
		return total < other_total ? 1 : -1;
	return strcmp(one->name, other->name);
}

int profile_difference_init(struct profile_difference *difference,
			    const struct opened_samples *before, const struct opened_samples *after)
{
	struct profile_difference fresh = {
		.type = &before->facts.types[before->facts.shown_type],
		.has_samples = true,
	};
	int err;

	fresh.has_shares = is_time(fresh.type) || is_of_samples(fresh.type);
	err = add_side(&fresh, before, DIFFERENCE_BEFORE);
	if (!err)
		err = add_side(&fresh, after, DIFFERENCE_AFTER);
	/* Samples say nothing about values that are not made of them. */
	fresh.has_samples &= fresh.has_shares;
	if (err) {
		profile_difference_deinit(&fresh);
		return err;
	}
	if (fresh.functions.count)
		qsort_r(fresh.functions.items, fresh.functions.count,
			sizeof(*fresh.functions.items), compare_functions, &fresh);
	/* The functions are sorted now, so the indexes in the map would be wrong. */
	hash_map_deinit(&fresh.indexes);
	*difference = fresh;
	return 0;
}

void profile_difference_deinit(struct profile_difference *difference)
{
	for (size_t i = 0; i < difference->functions.count; i++)
		free(difference->functions.items[i].name);
	function_difference_vector_deinit(&difference->functions);
	hash_map_deinit(&difference->indexes);
}
