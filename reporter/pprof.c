/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile is written as many Profile messages of one element each. Concatenated they equal one
 * Profile with all elements (protocol buffers merge on concatenation), and no copy of the whole is
 * needed in memory. Strings, functions, mappings and locations are written when they are first met,
 * samples at the end, when they are merged.
 */

#include "reporter/pprof.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "build/proto/profile.pb-c.h"
#include "lib/base/clock.h"
#include "lib/base/hash_map.h"
#include "lib/base/text.h"
#include "lib/base/vector.h"
#include "lib/model/languages.h"
#include "lib/model/origins.h"
#include "reporter/frame_key.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

enum {
	COMPRESSED_BYTES = 16384,
	/* zlib's windowBits: the largest window, with a gzip header. */
	GZIP_WINDOW_BITS = 15 + 16,
	ZLIB_MEMORY_LEVEL = 8,
};

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

/* An origin has a count, and a period or value of what it counts. An opened profile has types. */
enum {
	ORIGIN_COLUMNS_MAX = 2 * ORIGIN_COUNT,
	COLUMNS_MAX = ORIGIN_COLUMNS_MAX > PROFILE_TYPES_MAX ? ORIGIN_COLUMNS_MAX :
							       PROFILE_TYPES_MAX,
};

/* Prefix for a program's label whose key is one of ours, with or without this prefix. */
#define FOREIGN_KEY_PREFIX "label."

VECTOR_DEFINE(label_set_vector, const struct label_set *)
VECTOR_DEFINE(value_vector, int64_t)

struct pprof_writer {
	FILE *out;
	struct symbol_lookup *lookup;
	/* NULL: the samples are the agent's. */
	const struct profile_facts *facts;
	z_stream stream;
	unsigned char compressed[COMPRESSED_BYTES];
	/* The value columns, and the index of each origin's first column. */
	uint32_t first_columns[ORIGIN_COUNT];
	uint32_t column_count;
	/* The first error; after it everything is a no-op. */
	int err;
	/* Buffer of one packed message. */
	uint8_t *packed;
	size_t packed_capacity;
	/*
	 * strings maps a text to its index; the other maps map a key below to an id. An id is the
	 * number of earlier entries + 1.
	 */
	struct hash_map strings;
	struct hash_map mappings;
	/* Maps the address of a struct binary to the id of its mapping. */
	struct hash_map binary_mappings;
	struct hash_map functions;
	struct hash_map locations;
	/* Their ids count from 1. Borrowed from the snapshot, in which equal sets are the same pointer. */
	struct label_set_vector label_sets;
	struct hash_map label_ids;
	struct sequence_counts samples;
	/* A row of column_count values for each of the samples; only with facts. */
	struct value_vector values;
	struct number_vector sequence;
	struct text_builder text;
};

/* Keys under which mappings and functions are equal; locations use struct frame_key. No padding. */
struct mapping_key {
	uint64_t executable_id;
	/* A file that was opened may have several mappings of one binary. */
	uint64_t memory_start;
	uint64_t filename;
	uint64_t build_id;
};

struct function_key {
	uint64_t name;
	uint64_t filename;
};

/* --- bytes --- */

static void compress_bytes(struct pprof_writer *writer, const void *bytes, size_t count, int flush)
{
	z_stream *stream = &writer->stream;

	if (writer->err)
		return;
	stream->next_in = (unsigned char *)bytes;
	stream->avail_in = count;
	do {
		stream->next_out = writer->compressed;
		stream->avail_out = COMPRESSED_BYTES;
		deflate(stream, flush);
		fwrite(writer->compressed, 1, COMPRESSED_BYTES - stream->avail_out, writer->out);
	} while (stream->avail_out == 0);
}

static void write_profile(struct pprof_writer *writer, const Pprof__Profile *profile)
{
	size_t bytes = pprof__profile__get_packed_size(profile);
	uint8_t *grown;

	if (writer->err)
		return;
	if (bytes > writer->packed_capacity) {
		grown = vector_grow(writer->packed, &writer->packed_capacity, bytes, 1);
		if (!grown) {
			writer->err = -ENOMEM;
			return;
		}
		writer->packed = grown;
	}
	pprof__profile__pack(profile, writer->packed);
	compress_bytes(writer, writer->packed, bytes, Z_NO_FLUSH);
}

/* --- the tables --- */

/*
 * True if @key is new in @table: *@id is then its id, counted from @first, and the caller
 * writes the entry. False if the key is known, or after an error.
 */
static bool add_to_table(struct pprof_writer *writer, struct hash_map *table, const void *key,
			 size_t key_bytes, uint64_t first, uint64_t *id)
{
	*id = 0;
	if (writer->err || hash_map_find_bytes(table, key, key_bytes, id))
		return false;
	*id = table->count + first;
	writer->err = hash_map_set_bytes(table, key, key_bytes, *id);
	return !writer->err;
}

static int64_t add_string(struct pprof_writer *writer, const char *string, size_t length)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	char *entry = (char *)string;
	uint64_t index;

	if (add_to_table(writer, &writer->strings, string, length, 0, &index)) {
		profile.n_string_table = 1;
		profile.string_table = &entry;
		write_profile(writer, &profile);
	}
	return (int64_t)index;
}

/* For constant texts of this file. */
static int64_t add_literal(struct pprof_writer *writer, const char *string)
{
	return add_string(writer, string, strlen(string));
}

/* Adds writer->text, and empties it. */
static int64_t add_text(struct pprof_writer *writer)
{
	int64_t index;

	if (writer->text.failed && !writer->err)
		writer->err = -ENOMEM;
	index = add_string(writer, text_builder_text(&writer->text), writer->text.length);
	text_builder_clear(&writer->text);
	return index;
}

/* For names from outside: protocol buffers need UTF-8. */
static int64_t add_name(struct pprof_writer *writer, const char *name)
{
	text_builder_append_name(&writer->text, name ? name : "");
	return add_text(writer);
}

static int64_t add_mapping_name(struct pprof_writer *writer, const struct frame *frame)
{
	bool is_module = frame->file && strcmp(frame->file, "vmlinux");

	if (frame->kind == FRAME_KERNEL && is_module) {
		text_builder_append(&writer->text, "[kernel.");
		text_builder_append_name(&writer->text, frame->file);
		text_builder_append(&writer->text, "]");
	} else if (frame->kind == FRAME_KERNEL) {
		text_builder_append(&writer->text, "[kernel.kallsyms]");
	} else {
		text_builder_append_name(&writer->text,
					 frame->binary ? frame->binary->path : "[anonymous]");
	}
	return add_text(writer);
}

static int64_t add_build_id(struct pprof_writer *writer, const struct binary *binary)
{
	for (uint32_t i = 0; binary && i < binary->build_id_bytes; i++)
		text_builder_format(&writer->text, "%02x", binary->build_id[i]);
	return add_text(writer);
}

static uint64_t add_new_mapping(struct pprof_writer *writer, const struct frame *frame)
{
	const struct binary *binary = frame->binary;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;
	Pprof__Mapping *entry = &mapping;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	struct mapping_key key;
	uint64_t id;

	key = (struct mapping_key){
		.executable_id = binary ? binary->executable_id : 0,
		.memory_start = binary ? binary->memory_start : 0,
		.filename = add_mapping_name(writer, frame),
		.build_id = add_build_id(writer, binary),
	};
	if (!add_to_table(writer, &writer->mappings, &key, sizeof(key), 1, &id))
		return id;
	mapping.id = id;
	if (binary) {
		mapping.memory_start = binary->memory_start;
		mapping.memory_limit = binary->memory_limit;
		mapping.file_offset = binary->file_offset;
	}
	mapping.filename = (int64_t)key.filename;
	mapping.build_id = (int64_t)key.build_id;
	/*
	 * All known names are in the profile: tools must not look up names in whatever file now has
	 * this path.
	 */
	mapping.has_functions = true;
	mapping.has_filenames = true;
	mapping.has_line_numbers = true;
	mapping.has_inline_frames = true;
	profile.n_mapping = 1;
	profile.mapping = &entry;
	write_profile(writer, &profile);
	return id;
}

/* 0 (no mapping) for errors and interpreted frames. */
static uint64_t add_mapping(struct pprof_writer *writer, const struct frame *frame)
{
	uint64_t binary = (uintptr_t)frame->binary;
	uint64_t id;

	if ((frame->kind != FRAME_NATIVE && frame->kind != FRAME_KERNEL) ||
	    (frame->binary && frame->binary->is_nowhere))
		return 0;
	if (!binary)
		return add_new_mapping(writer, frame);
	if (!hash_map_find(&writer->binary_mappings, binary, &id)) {
		id = add_new_mapping(writer, frame);
		if (!writer->err)
			writer->err = hash_map_set(&writer->binary_mappings, binary, id);
	}
	return id;
}

/*
 * system_name stays empty. If it equals the name, pprof treats both as raw symbols and cuts the
 * parameters off C++ names, so that different functions are merged.
 */
static uint64_t add_function(struct pprof_writer *writer, const struct named_frame *name)
{
	Pprof__Function function = PPROF__FUNCTION__INIT;
	Pprof__Function *entry = &function;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	struct function_key key;
	uint64_t id;

	append_frame_name(&writer->text, name);
	text_builder_append(&writer->text, doubt_suffix(name));
	key.name = add_text(writer);
	key.filename = add_name(writer, name->file);
	if (!add_to_table(writer, &writer->functions, &key, sizeof(key), 1, &id))
		return id;
	function.id = id;
	function.name = (int64_t)key.name;
	function.filename = (int64_t)key.filename;
	profile.n_function = 1;
	profile.function = &entry;
	write_profile(writer, &profile);
	return id;
}

static void write_location(struct pprof_writer *writer, const struct shown_location *shown,
			   uint64_t id, const struct frame_key *key, uint64_t mapping)
{
	struct named_frame names[FRAME_MAX_NAMES];
	Pprof__Line lines[FRAME_MAX_NAMES];
	Pprof__Line *line_entries[FRAME_MAX_NAMES];
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Location *entry = &location;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	uint32_t count = name_location(shown, writer->lookup, names);

	for (uint32_t i = 0; i < count; i++) {
		pprof__line__init(&lines[i]);
		lines[i].function_id = add_function(writer, &names[i]);
		lines[i].line = names[i].line;
		lines[i].column = names[i].column;
		line_entries[i] = &lines[i];
	}
	location.id = id;
	location.mapping_id = mapping;
	location.address = key->address;
	location.n_line = count;
	location.line = line_entries;
	profile.n_location = 1;
	profile.location = &entry;
	write_profile(writer, &profile);
}

static uint64_t add_location(struct pprof_writer *writer, const struct shown_location *shown)
{
	struct frame_key keys[FRAME_MAX_NAMES];
	uint64_t id, outer_mapping = 0;

	for (uint32_t i = 0; i < shown->count; i++) {
		const struct frame *frame = &shown->frames[i];

		outer_mapping = add_mapping(writer, frame);
		keys[i] = frame_key_make(frame, outer_mapping);
		/* Only inlined functions show this flag (doubt_suffix()). */
		if (!(frame->flags & FRAME_INLINED))
			keys[i].flags &= ~FRAME_APPROXIMATE;
		if (frame_carries_name(frame)) {
			keys[i].function = add_name(writer, frame->function);
			keys[i].file = add_name(writer, frame->file);
		}
	}
	if (add_to_table(writer, &writer->locations, keys, shown->count * sizeof(keys[0]), 1, &id))
		/* The code is in the outermost function's file. */
		write_location(writer, shown, id, &keys[0], outer_mapping);
	return id;
}

/* --- samples --- */

static void push_number(struct pprof_writer *writer, uint64_t number)
{
	if (!writer->err)
		writer->err = number_vector_push(&writer->sequence, number);
}

static uint64_t add_labels(struct pprof_writer *writer, const struct label_set *labels)
{
	uint64_t id = 0;

	if (!labels || writer->err || hash_map_find(&writer->label_ids, (uintptr_t)labels, &id))
		return id;
	writer->err = label_set_vector_push(&writer->label_sets, labels);
	id = writer->label_sets.count;
	if (!writer->err)
		writer->err = hash_map_set(&writer->label_ids, (uintptr_t)labels, id);
	return id;
}

static uint32_t attribute_number(struct pprof_writer *writer, const struct sample *sample,
				 uint32_t attribute)
{
	if (!*sample_attributes[attribute].pprof)
		return 0;
	return sample_attributes[attribute].kind == ATTRIBUTE_TEXT ?
		       add_name(writer, sample_text(sample, attribute)) :
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
	writer->sequence.count = 0;
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		push_number(writer, attribute_number(writer, &sample->sample, i));
	push_number(writer, add_labels(writer, sample->sample.labels));
	push_number(writer, sample->sample.trace->mark);
	/* All values of an opened profile's sample are in one row. */
	push_number(writer, writer->facts ? 0 : sample->sample.origin);
	for (uint32_t i = 0; i < sample->sample.trace->frame_count;) {
		struct shown_location shown;

		trace_shown_location(sample->sample.trace, &i, writer->lookup, &shown);
		if (shown.count)
			push_number(writer, add_location(writer, &shown));
	}
	if (!writer->err && writer->facts)
		writer->err = add_value(writer, sample);
	else if (!writer->err)
		writer->err = sequence_counts_add(&writer->samples, &writer->sequence,
						  sample->count, sample->value_sum);
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
			text_builder_append(&writer->text, FOREIGN_KEY_PREFIX);
		key = add_name(writer, label.key);
		if (is_number)
			push_number_label(list, key, number, add_name(writer, unit));
		else
			push_label(list, key, add_name(writer, label.value), 0);
	}
	if (labels->task_language)
		push_label(list,
			   add_literal(writer, language_task_key(labels->task_language)->pprof), 0,
			   (int64_t)labels->task_id);
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
		push_label(&list, add_literal(writer, mark->pprof), add_literal(writer, "true"), 0);
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
	write_profile(writer, &profile);
}

static void write_samples(struct pprof_writer *writer, uint64_t period_ns)
{
	int64_t keys[SAMPLE_ATTRIBUTE_COUNT];
	const struct sequence_vector *samples = &writer->samples.sequences;
	uint64_t *location_ids;
	size_t longest = 0;

	for (size_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		keys[i] = add_literal(writer, sample_attributes[i].pprof);
	for (size_t i = 0; i < samples->count; i++) {
		if (samples->items[i].length > longest)
			longest = samples->items[i].length;
	}
	location_ids = calloc(longest + 1, sizeof(*location_ids));
	if (!location_ids) {
		writer->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < samples->count && !writer->err; i++)
		write_sample(writer, &samples->items[i], keys, period_ns, location_ids);
	free(location_ids);
}

/* --- the profile --- */

static void add_column(struct pprof_writer *writer, const char *type, const char *unit,
		       Pprof__ValueType types[COLUMNS_MAX])
{
	Pprof__ValueType *column = &types[writer->column_count++];

	pprof__value_type__init(column);
	column->type = add_name(writer, type);
	column->unit = add_name(writer, unit);
}

/*
 * Adds the columns of each origin that has samples, and of the clock. An origin with values has two
 * columns: its name for the count, and its type for the sum of the values.
 */
static void add_columns(struct pprof_writer *writer, const struct sample_snapshot *snapshot,
			Pprof__ValueType types[COLUMNS_MAX])
{
	bool is_there[ORIGIN_COUNT] = { [ORIGIN_CLOCK] = true };

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
}

static void add_columns_of_facts(struct pprof_writer *writer, Pprof__ValueType types[COLUMNS_MAX])
{
	for (uint32_t i = 0; i < writer->facts->type_count; i++) {
		const struct value_type *type = &writer->facts->types[i];
		Pprof__ValueType *column = &types[writer->column_count++];

		pprof__value_type__init(column);
		column->type = add_name(writer, type->type);
		value_type_append_unit(&writer->text, type);
		column->unit = add_text(writer);
	}
}

static void write_comment(struct pprof_writer *writer, const char *text)
{
	Pprof__Profile comment = PPROF__PROFILE__INIT;
	int64_t index = add_name(writer, text);

	comment.n_comment = 1;
	comment.comment = &index;
	write_profile(writer, &comment);
}

/* The period, the shown type and the comments of an opened profile. */
static void write_facts(struct pprof_writer *writer)
{
	const struct profile_facts *facts = writer->facts;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__ValueType period = PPROF__VALUE_TYPE__INIT;

	if (facts->period_type) {
		period.type = add_name(writer, facts->period_type);
		period.unit = add_name(writer, facts->period_unit);
		profile.period_type = &period;
		profile.period = facts->period;
	}
	if (facts->names_shown_type)
		profile.default_sample_type =
			add_name(writer, facts->types[facts->shown_type].type);
	write_profile(writer, &profile);
	for (size_t i = 0; i < facts->comment_count; i++)
		write_comment(writer, facts->comments[i]);
}

static void write_header(struct pprof_writer *writer, const struct sample_snapshot *snapshot,
			 const struct profile_info *info, uint64_t period_ns)
{
	Pprof__ValueType types[COLUMNS_MAX], *pointers[COLUMNS_MAX];
	Pprof__Profile profile = PPROF__PROFILE__INIT;

	/* The first string must be empty. */
	add_literal(writer, "");
	if (writer->facts)
		add_columns_of_facts(writer, types);
	else
		add_columns(writer, snapshot, types);
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
	write_profile(writer, &profile);
	if (writer->facts)
		write_facts(writer);
	for (size_t i = 0; i < info->tag_count; i++)
		write_comment(writer, info->tags[i]);
}

static void pprof_writer_deinit(struct pprof_writer *writer)
{
	deflateEnd(&writer->stream);
	free(writer->packed);
	hash_map_deinit(&writer->strings);
	hash_map_deinit(&writer->mappings);
	hash_map_deinit(&writer->binary_mappings);
	hash_map_deinit(&writer->functions);
	hash_map_deinit(&writer->locations);
	hash_map_deinit(&writer->label_ids);
	label_set_vector_deinit(&writer->label_sets);
	sequence_counts_deinit(&writer->samples);
	value_vector_deinit(&writer->values);
	number_vector_deinit(&writer->sequence);
	text_builder_deinit(&writer->text);
}

int pprof_write(FILE *out, const struct sample_snapshot *snapshot, const struct profile_info *info,
		struct symbol_lookup *lookup)
{
	struct pprof_writer writer = { .out = out, .lookup = lookup, .facts = info->facts };
	uint64_t rate = info->samples_per_second ? info->samples_per_second : 1;
	uint64_t period_ns = (NS_PER_SECOND + rate / 2) / rate;

	if (deflateInit2(&writer.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
			 ZLIB_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	write_header(&writer, snapshot, info, period_ns);
	for (size_t i = 0; i < snapshot->count && !writer.err; i++)
		merge_sample(&writer, &snapshot->samples[i]);
	if (!writer.err)
		write_samples(&writer, period_ns);
	compress_bytes(&writer, NULL, 0, Z_FINISH);
	pprof_writer_deinit(&writer);
	return writer.err;
}
