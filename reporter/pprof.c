/* SPDX-License-Identifier: Apache-2.0 */
/* The tables (reporter/pprof_tables.h) are written while samples are merged, the samples at the end. */

#include "reporter/pprof.h"

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash_map.h"
#include "lib/base/text.h"
#include "lib/base/vector.h"
#include "lib/model/languages.h"
#include "lib/model/origins.h"
#include "reporter/pprof_tables.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

/*
 * Numbers at the start of a sample's sequence, before its locations. Attributes come first;
 * attributes without a key are 0.
 */
enum sequence_number {
	/* The id of the sample's labels in label_sets; 0 for none. */
	SEQUENCE_LABELS = SAMPLE_ATTRIBUTE_COUNT,
	SEQUENCE_MARK,
	SEQUENCE_ORIGIN,
	SEQUENCE_FIRST_LOCATION,
};

/*
 * A sample has our labels, those of the program, its runtime's id for the work (such as a
 * goroutine), and a mark.
 */
enum {
	OWN_LABELS = SAMPLE_ATTRIBUTE_COUNT + 2,
	LABEL_ENTRIES_MAX = OWN_LABELS + PROFILE_LABELS_MAX + 1,
};

/* An origin has a count, and a period or value of what it counts; a weight has a value. An opened profile has types. */
enum {
	ORIGIN_COLUMNS_MAX = 2 * SAMPLE_ORIGIN_COUNT,
	COLUMNS_MAX = ORIGIN_COLUMNS_MAX > PROFILE_TYPES_MAX ? ORIGIN_COLUMNS_MAX :
							       PROFILE_TYPES_MAX,
};

/* Prefix for a program's label whose key is one of ours, with or without this prefix. */
#define FOREIGN_KEY_PREFIX "label."

VECTOR_DEFINE(label_set_vector, const struct label_set *)
VECTOR_DEFINE(value_vector, int64_t)

struct pprof_writer {
	struct pprof_tables tables;
	/* NULL: the samples are the agent's. */
	const struct profile_facts *facts;
	/* The outermost frame of a stack is its process. */
	bool has_processes;
	/* The value columns, and the index of each origin's first column. */
	uint32_t first_columns[ORIGIN_COUNT];
	/* The column of the weight; 0: there is none. */
	uint32_t weight_column;
	uint32_t column_count;
	/* Their ids count from 1. Borrowed from the snapshot, in which equal sets are the same pointer. */
	struct label_set_vector label_sets;
	struct hash_map label_ids;
	struct sequence_counts samples;
	/* A row of column_count values for each of the samples; only with facts. */
	struct value_vector values;
	struct number_vector sequence;
};

/* --- samples --- */

static void push_number(struct pprof_writer *writer, uint64_t number)
{
	if (!writer->tables.err)
		writer->tables.err = number_vector_push(&writer->sequence, number);
}

static uint64_t add_labels(struct pprof_writer *writer, const struct label_set *labels)
{
	uint64_t id = 0;

	if (!labels || writer->tables.err ||
	    hash_map_find(&writer->label_ids, (uintptr_t)labels, &id))
		return id;
	writer->tables.err = label_set_vector_push(&writer->label_sets, labels);
	id = writer->label_sets.count;
	if (!writer->tables.err)
		writer->tables.err = hash_map_set(&writer->label_ids, (uintptr_t)labels, id);
	return id;
}

static uint32_t attribute_number(struct pprof_writer *writer, const struct sample *sample,
				 uint32_t attribute)
{
	if (!*sample_attributes[attribute].pprof)
		return 0;
	return sample_attributes[attribute].kind == ATTRIBUTE_TEXT ?
		       pprof_tables_name(&writer->tables, sample_text(sample, attribute)) :
		       sample_number(sample, attribute);
}

/* Adds the value of an opened profile's sample to the row of the sequence. */
static int add_value(struct pprof_writer *writer, const struct stored_sample *sample)
{
	size_t index, columns = writer->column_count;
	int err = sequence_counts_index(&writer->samples, &writer->sequence, &index);

	while (!err && writer->values.count < (index + 1) * columns)
		err = value_vector_push(&writer->values, 0);
	if (!err)
		writer->values.items[index * columns + sample->sample.origin] +=
			(int64_t)sample->value_sum;
	return err;
}

static void merge_sample(struct pprof_writer *writer, const struct stored_sample *sample)
{
	bool is_weight = origin_is_weight(sample->sample.origin);

	writer->sequence.count = 0;
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		push_number(writer, attribute_number(writer, &sample->sample, i));
	push_number(writer, add_labels(writer, sample->sample.labels));
	push_number(writer, sample->sample.trace->mark);
	/* All values of an opened profile's sample are in one row, and so is a sample's weight. */
	push_number(writer, writer->facts || is_weight ? ORIGIN_CLOCK : sample->sample.origin);
	for (uint32_t i = 0; i < sample->sample.trace->frame_count;) {
		struct shown_location shown;

		trace_shown_location(sample->sample.trace, &i, writer->tables.lookup, &shown);
		if (shown.count)
			push_number(writer, pprof_tables_location(&writer->tables, &shown));
	}
	if (writer->has_processes && (!writer->facts || *sample->sample.process_comm))
		push_number(writer,
			    pprof_tables_process(&writer->tables, sample->sample.process_comm));
	if (!writer->tables.err && writer->facts)
		writer->tables.err = add_value(writer, sample);
	else if (!writer->tables.err)
		writer->tables.err = sequence_counts_add(&writer->samples, &writer->sequence,
							 is_weight ? 0 : sample->count,
							 sample->value_sum);
}

struct label_list {
	Pprof__Label labels[LABEL_ENTRIES_MAX];
	Pprof__Label *entries[LABEL_ENTRIES_MAX];
	size_t count;
};

static void push_label(struct label_list *list, int64_t key, int64_t text, int64_t number)
{
	Pprof__Label *label = &list->labels[list->count];

	pprof__label__init(label);
	label->key = key;
	label->str = text;
	label->num = number;
	list->entries[list->count++] = label;
}

static void push_number_label(struct label_list *list, int64_t key, int64_t number, int64_t unit)
{
	push_label(list, key, 0, number);
	list->labels[list->count - 1].num_unit = unit;
}

/*
 * True if @key is one of ours after any number of prefixes, so that no two keys become equal. A key of an opened profile
 * is only taken if the value is of the attribute's kind: readers tell texts from numbers.
 */
static bool is_taken(const struct pprof_writer *writer, const char *key, bool is_number)
{
	static const char *const of_languages[] = {
#define X(NAME, otlp, pprof) pprof,
		LANGUAGE_TASK_KEYS(X) LANGUAGE_MARKS(X)
#undef X
	};

	while (text_starts_with(key, FOREIGN_KEY_PREFIX))
		key += strlen(FOREIGN_KEY_PREFIX);
	for (size_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		if (*key && !strcmp(key, sample_attributes[i].pprof) &&
		    (!writer->facts ||
		     is_number == (sample_attributes[i].kind == ATTRIBUTE_NUMBER)))
			return true;
	for (size_t i = 0; i < sizeof(of_languages) / sizeof(of_languages[0]); i++)
		if (!strcmp(key, of_languages[i]))
			return true;
	return false;
}

static void push_program_labels(struct pprof_writer *writer, const struct label_set *labels,
				struct label_list *list)
{
	const char *at = labels->texts;

	for (uint32_t i = 0; i < labels->label_count; i++) {
		struct label label = label_set_next(&at);
		const char *unit;
		int64_t key, number;
		bool is_number = label_is_number(&label, &number, &unit);

		if (is_taken(writer, label.key, is_number))
			text_builder_append(&writer->tables.text, FOREIGN_KEY_PREFIX);
		key = pprof_tables_name(&writer->tables, label.key);
		if (is_number)
			push_number_label(list, key, number,
					  pprof_tables_name(&writer->tables, unit));
		else
			push_label(list, key, pprof_tables_name(&writer->tables, label.value), 0);
	}
	if (labels->task_language)
		push_label(list,
			   pprof_tables_literal(&writer->tables,
						language_task_key(labels->task_language)->pprof),
			   0, (int64_t)labels->task_id);
}

/* An opened profile may not know the text, which is then left out. */
static void push_text_label(const struct pprof_writer *writer, struct label_list *list, int64_t key,
			    int64_t text)
{
	if (text || !writer->facts)
		push_label(list, key, text, 0);
}

/* @keys has the key of each attribute, @numbers its value. */
static void push_attributes(const struct pprof_writer *writer, const int64_t *keys,
			    const uint32_t *numbers, struct label_list *list)
{
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++) {
		if (!keys[i])
			continue;
		if (sample_attributes[i].kind == ATTRIBUTE_TEXT)
			push_text_label(writer, list, keys[i], numbers[i]);
		else if (numbers[i] != sample_attributes[i].unknown)
			push_label(list, keys[i], 0, numbers[i]);
	}
}

static void fill_values(const struct pprof_writer *writer, const struct counted_sequence *counted,
			uint32_t origin, uint64_t period_ns, int64_t values[COLUMNS_MAX])
{
	int64_t *value = &values[writer->first_columns[origin]];

	*value = (int64_t)counted->count;
	if (sample_origins[origin].has_values)
		value[1] = (int64_t)counted->value;
	else if (*sample_origins[origin].period_type)
		value[1] = (int64_t)(counted->count * period_ns);
	if (origin == ORIGIN_CLOCK && writer->weight_column)
		values[writer->weight_column] = (int64_t)counted->value;
}

static void write_sample(struct pprof_writer *writer, const struct counted_sequence *counted,
			 const int64_t *keys, uint64_t period_ns, uint64_t *location_ids)
{
	const uint32_t *numbers = writer->samples.numbers.items + counted->first;
	const struct language_key *mark = language_mark((uint8_t)numbers[SEQUENCE_MARK]);
	struct label_list list = { .count = 0 };
	int64_t values[COLUMNS_MAX] = { 0 };
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Sample *entry = &sample;
	Pprof__Profile profile = PPROF__PROFILE__INIT;

	if (writer->facts)
		memcpy(values,
		       writer->values.items + (size_t)(counted - writer->samples.sequences.items) *
						      writer->column_count,
		       writer->column_count * sizeof(*values));
	else
		fill_values(writer, counted, numbers[SEQUENCE_ORIGIN], period_ns, values);
	push_attributes(writer, keys, numbers, &list);
	if (numbers[SEQUENCE_LABELS])
		push_program_labels(writer, writer->label_sets.items[numbers[SEQUENCE_LABELS] - 1],
				    &list);
	if (mark)
		push_label(&list, pprof_tables_literal(&writer->tables, mark->pprof),
			   pprof_tables_literal(&writer->tables, "true"), 0);
	for (size_t i = SEQUENCE_FIRST_LOCATION; i < counted->length; i++)
		location_ids[i - SEQUENCE_FIRST_LOCATION] = numbers[i];
	sample.n_location_id = counted->length - SEQUENCE_FIRST_LOCATION;
	sample.location_id = location_ids;
	sample.n_value = writer->column_count;
	sample.value = values;
	sample.n_label = list.count;
	sample.label = list.entries;
	profile.n_sample = 1;
	profile.sample = &entry;
	pprof_tables_write(&writer->tables, &profile);
}

static void write_samples(struct pprof_writer *writer, uint64_t period_ns)
{
	int64_t keys[SAMPLE_ATTRIBUTE_COUNT];
	const struct sequence_vector *samples = &writer->samples.sequences;
	uint64_t *location_ids;
	size_t longest = 0;

	for (size_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		keys[i] = pprof_tables_literal(&writer->tables, sample_attributes[i].pprof);
	for (size_t i = 0; i < samples->count; i++) {
		if (samples->items[i].length > longest)
			longest = samples->items[i].length;
	}
	location_ids = calloc(longest + 1, sizeof(*location_ids));
	if (!location_ids) {
		writer->tables.err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < samples->count && !writer->tables.err; i++)
		write_sample(writer, &samples->items[i], keys, period_ns, location_ids);
	free(location_ids);
}

/* --- the profile --- */

static void add_column(struct pprof_writer *writer, const char *type, const char *unit,
		       Pprof__ValueType types[COLUMNS_MAX])
{
	Pprof__ValueType *column = &types[writer->column_count++];

	pprof__value_type__init(column);
	column->type = pprof_tables_name(&writer->tables, type);
	column->unit = pprof_tables_name(&writer->tables, unit);
}

/*
 * Adds the columns of each origin that has samples, and of the clock. An origin with values has two
 * columns: its name for the count, and its type for the sum of the values. The weight has one.
 */
static void add_columns(struct pprof_writer *writer, const struct sample_snapshot *snapshot,
			uint8_t weight, Pprof__ValueType types[COLUMNS_MAX])
{
	bool is_there[SAMPLE_ORIGIN_COUNT] = { [ORIGIN_CLOCK] = true };

	for (size_t i = 0; i < snapshot->count; i++)
		is_there[snapshot->samples[i].sample.origin] = true;
	for (uint32_t i = 0; i < ORIGIN_COUNT; i++) {
		const struct sample_origin *origin = &sample_origins[i];

		if (!is_there[i])
			continue;
		writer->first_columns[i] = writer->column_count;
		if (origin->has_values)
			add_column(writer, origin->name, "count", types);
		add_column(writer, origin->type, origin->unit, types);
		if (!origin->has_values && *origin->period_type)
			add_column(writer, origin->period_type, origin->period_unit, types);
	}
	if (!weight)
		return;
	/* The last column, which tools show first. */
	writer->weight_column = writer->column_count;
	add_column(writer, sample_origins[weight].type, sample_origins[weight].unit, types);
}

static void add_columns_of_facts(struct pprof_writer *writer, Pprof__ValueType types[COLUMNS_MAX])
{
	for (uint32_t i = 0; i < writer->facts->type_count; i++) {
		const struct value_type *type = &writer->facts->types[i];
		Pprof__ValueType *column = &types[writer->column_count++];

		pprof__value_type__init(column);
		column->type = pprof_tables_name(&writer->tables, type->type);
		value_type_append_unit(&writer->tables.text, type);
		column->unit = pprof_tables_text(&writer->tables);
	}
}

static void write_comment(void *context, const char *text)
{
	struct pprof_writer *writer = context;
	Pprof__Profile comment = PPROF__PROFILE__INIT;
	int64_t index = pprof_tables_name(&writer->tables, text);

	comment.n_comment = 1;
	comment.comment = &index;
	pprof_tables_write(&writer->tables, &comment);
}

/* The period and the shown type of an opened profile. */
static void write_facts(struct pprof_writer *writer)
{
	const struct profile_facts *facts = writer->facts;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__ValueType period = PPROF__VALUE_TYPE__INIT;

	if (facts->period_type) {
		period.type = pprof_tables_name(&writer->tables, facts->period_type);
		period.unit = pprof_tables_name(&writer->tables, facts->period_unit);
		profile.period_type = &period;
		profile.period = facts->period;
	}
	if (facts->names_shown_type)
		profile.default_sample_type =
			pprof_tables_name(&writer->tables, facts->types[facts->shown_type].type);
	pprof_tables_write(&writer->tables, &profile);
}

static void write_header(struct pprof_writer *writer, const struct sample_snapshot *snapshot,
			 const struct profile_info *info, uint64_t period_ns)
{
	Pprof__ValueType types[COLUMNS_MAX], *pointers[COLUMNS_MAX];
	Pprof__Profile profile = PPROF__PROFILE__INIT;

	/* The first string must be empty. */
	pprof_tables_literal(&writer->tables, "");
	/* Tools call a profile by its first mapping: not by the first library that a sample was in. */
	if (!writer->facts && info->host && *info->host)
		pprof_tables_name_profile(&writer->tables, info->host);
	if (writer->facts)
		add_columns_of_facts(writer, types);
	else
		add_columns(writer, snapshot, info->weight, types);
	for (uint32_t i = 0; i < writer->column_count; i++)
		pointers[i] = &types[i];
	profile.n_sample_type = writer->column_count;
	profile.sample_type = pointers;
	if (!writer->facts) {
		/* The clock's type, which follows its sample count. */
		profile.period_type = pointers[1];
		profile.period = (int64_t)period_ns;
	}
	profile.time_nanos = (int64_t)info->start_time_ns;
	profile.duration_nanos = (int64_t)info->duration_ns;
	pprof_tables_write(&writer->tables, &profile);
	if (writer->facts)
		write_facts(writer);
	if (profile_info_comments(info, snapshot, write_comment, writer))
		writer->tables.err = -ENOMEM;
	for (size_t i = 0; i < info->tag_count; i++)
		write_comment(writer, info->tags[i]);
}

static void pprof_writer_deinit(struct pprof_writer *writer)
{
	pprof_tables_deinit(&writer->tables);
	hash_map_deinit(&writer->label_ids);
	label_set_vector_deinit(&writer->label_sets);
	sequence_counts_deinit(&writer->samples);
	value_vector_deinit(&writer->values);
	number_vector_deinit(&writer->sequence);
}

int pprof_write(FILE *out, const struct sample_snapshot *snapshot, const struct profile_info *info,
		struct symbol_lookup *lookup)
{
	struct pprof_writer writer = {
		.facts = info->facts,
		.has_processes = info->with_processes,
	};
	uint64_t rate = info->samples_per_second ? info->samples_per_second : 1;
	uint64_t period_ns = (NS_PER_SECOND + rate / 2) / rate;

	int err = pprof_tables_init(&writer.tables, out, lookup);

	if (err)
		return err;
	write_header(&writer, snapshot, info, period_ns);
	for (size_t i = 0; i < snapshot->count && !writer.tables.err; i++)
		merge_sample(&writer, &snapshot->samples[i]);
	if (!writer.tables.err)
		write_samples(&writer, period_ns);
	pprof_tables_finish(&writer.tables);
	err = writer.tables.err;
	pprof_writer_deinit(&writer);
	return err;
}
