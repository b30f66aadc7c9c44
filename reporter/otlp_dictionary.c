/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries are stored as sequences of numbers, laid out as the functions that add and read them
 * show. The uses of each entry in a request are counted. A sample that turns out to be too large is
 * taken back, so a request has no entry without references.
 */

#include "reporter/otlp_dictionary.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/base/text.h"

enum {
	ATTRIBUTE_WORDS = 4,
	MAPPING_WORDS = 7,
	LOCATION_WORDS = 4,
	/* The zero values: a tag and a length for each table, the link table included. */
	ZERO_ENTRIES_BYTES = 7 * 2,
};

static void add_zero_values(struct otlp_dictionary *dictionary)
{
	struct number_vector no_locations = { 0 };

	otlp_add_string(dictionary, "");
	otlp_add_attribute(dictionary, &(struct otlp_attribute_entry){ 0 });
	otlp_add_mapping(dictionary, &(struct otlp_mapping_entry){ 0 });
	otlp_add_function(dictionary, &(struct otlp_function_entry){ 0 });
	otlp_add_location(dictionary, &(struct otlp_location_entry){ 0 });
	otlp_add_stack(dictionary, &no_locations);
}

void otlp_dictionary_init(struct otlp_dictionary *dictionary)
{
	add_zero_values(dictionary);
	otlp_dictionary_mark(dictionary);
}

void otlp_dictionary_deinit(struct otlp_dictionary *dictionary)
{
	for (int i = 0; i < OTLP_TABLE_COUNT; i++) {
		sequence_counts_deinit(&dictionary->tables[i].contents);
		otlp_use_vector_deinit(&dictionary->tables[i].uses);
		number_vector_deinit(&dictionary->tables[i].used);
	}
	for (size_t i = 0; i < dictionary->strings.count; i++)
		free(dictionary->strings.items[i].bytes);
	otlp_string_vector_deinit(&dictionary->strings);
	hash_map_deinit(&dictionary->string_ids);
	otlp_reference_vector_deinit(&dictionary->since_mark);
	text_builder_deinit(&dictionary->text);
	number_vector_deinit(&dictionary->sequence);
	memset(dictionary, 0, sizeof(*dictionary));
}

/* --- strings --- */

static int add_new_string(struct otlp_dictionary *dictionary, const char *bytes, size_t length)
{
	struct otlp_string string = { .length = length };
	int err;

	err = otlp_string_vector_reserve(&dictionary->strings, dictionary->strings.count + 1);
	if (!err)
		err = otlp_use_vector_push(&dictionary->tables[OTLP_STRINGS].uses,
					   (struct otlp_entry_use){ 0 });
	if (err)
		return err;
	string.bytes = strndup(bytes, length);
	if (!string.bytes)
		return -ENOMEM;
	err = otlp_string_vector_push(&dictionary->strings, string);
	if (err) {
		free(string.bytes);
		return err;
	}
	return hash_map_set_bytes(&dictionary->string_ids, bytes, length,
				  dictionary->strings.count - 1);
}

uint32_t otlp_add_built_string(struct otlp_dictionary *dictionary)
{
	struct text_builder *text = &dictionary->text;
	size_t length = text_cut_length(text->text, text->length, OTLP_STRING_MAX_BYTES);
	uint64_t id = 0;

	if (text->failed && !dictionary->err)
		dictionary->err = -ENOMEM;
	if (!dictionary->err &&
	    !hash_map_find_bytes(&dictionary->string_ids, text_builder_text(text), length, &id)) {
		id = dictionary->strings.count;
		dictionary->err = add_new_string(dictionary, text_builder_text(text), length);
	}
	text_builder_clear(text);
	return dictionary->err ? 0 : id;
}

uint32_t otlp_add_string(struct otlp_dictionary *dictionary, const char *name)
{
	text_builder_append_name(&dictionary->text, name);
	return otlp_add_built_string(dictionary);
}

const struct otlp_string *otlp_string(const struct otlp_dictionary *dictionary, uint32_t id)
{
	return &dictionary->strings.items[id];
}

/* --- entries as sequences --- */

static void push_word(struct otlp_dictionary *dictionary, uint32_t word)
{
	if (!dictionary->err)
		dictionary->err = number_vector_push(&dictionary->sequence, word);
}

static void push_long(struct otlp_dictionary *dictionary, uint64_t value)
{
	push_word(dictionary, value);
	push_word(dictionary, value >> 32);
}

static void push_words(struct otlp_dictionary *dictionary, const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		push_word(dictionary, words[i]);
}

static uint64_t long_at(const uint32_t *words)
{
	return words[0] | (uint64_t)words[1] << 32;
}

static uint32_t add_entry(struct otlp_dictionary *dictionary, enum otlp_table table,
			  const struct number_vector *sequence)
{
	struct otlp_entries *entries = &dictionary->tables[table];
	size_t id = 0;

	if (!dictionary->err)
		dictionary->err = sequence_counts_index(&entries->contents, sequence, &id);
	if (!dictionary->err && id == entries->uses.count)
		dictionary->err =
			otlp_use_vector_push(&entries->uses, (struct otlp_entry_use){ 0 });
	return dictionary->err ? 0 : id;
}

/* Adds the entry whose numbers were pushed. */
static uint32_t add_pushed(struct otlp_dictionary *dictionary, enum otlp_table table)
{
	uint32_t id = add_entry(dictionary, table, &dictionary->sequence);

	dictionary->sequence.count = 0;
	return id;
}

static const uint32_t *content_of(const struct otlp_dictionary *dictionary, enum otlp_table table,
				  uint32_t id, size_t *length)
{
	const struct sequence_counts *contents = &dictionary->tables[table].contents;
	const struct counted_sequence *sequence = &contents->sequences.items[id];

	*length = sequence->length;
	return contents->numbers.items + sequence->first;
}

uint32_t otlp_add_attribute(struct otlp_dictionary *dictionary,
			    const struct otlp_attribute_entry *attribute)
{
	push_word(dictionary, attribute->key);
	push_word(dictionary, attribute->kind);
	push_long(dictionary, attribute->value);
	push_words(dictionary, attribute->texts, attribute->text_count);
	return add_pushed(dictionary, OTLP_ATTRIBUTES);
}

struct otlp_attribute_entry otlp_attribute(const struct otlp_dictionary *dictionary, uint32_t id)
{
	size_t length;
	const uint32_t *words = content_of(dictionary, OTLP_ATTRIBUTES, id, &length);

	return (struct otlp_attribute_entry){
		.key = words[0],
		.kind = words[1],
		.value = (int64_t)long_at(words + 2),
		.text_count = length - ATTRIBUTE_WORDS,
		.texts = words + ATTRIBUTE_WORDS,
	};
}

uint32_t otlp_add_text_attribute(struct otlp_dictionary *dictionary, const char *key,
				 const char *value)
{
	struct otlp_attribute_entry attribute = {
		.key = otlp_add_string(dictionary, key),
		.kind = OTLP_VALUE_TEXT,
		.value = otlp_add_string(dictionary, value),
	};

	return otlp_add_attribute(dictionary, &attribute);
}

uint32_t otlp_add_mapping(struct otlp_dictionary *dictionary,
			  const struct otlp_mapping_entry *mapping)
{
	push_long(dictionary, mapping->memory_start);
	push_long(dictionary, mapping->memory_limit);
	push_long(dictionary, mapping->file_offset);
	push_word(dictionary, mapping->filename);
	push_words(dictionary, mapping->attributes, mapping->attribute_count);
	return add_pushed(dictionary, OTLP_MAPPINGS);
}

struct otlp_mapping_entry otlp_mapping(const struct otlp_dictionary *dictionary, uint32_t id)
{
	size_t length;
	const uint32_t *words = content_of(dictionary, OTLP_MAPPINGS, id, &length);

	return (struct otlp_mapping_entry){
		.memory_start = long_at(words),
		.memory_limit = long_at(words + 2),
		.file_offset = long_at(words + 4),
		.filename = words[6],
		.attribute_count = length - MAPPING_WORDS,
		.attributes = words + MAPPING_WORDS,
	};
}

uint32_t otlp_add_function(struct otlp_dictionary *dictionary,
			   const struct otlp_function_entry *function)
{
	push_word(dictionary, function->name);
	push_word(dictionary, function->filename);
	push_word(dictionary, function->start_line);
	return add_pushed(dictionary, OTLP_FUNCTIONS);
}

struct otlp_function_entry otlp_function(const struct otlp_dictionary *dictionary, uint32_t id)
{
	size_t length;
	const uint32_t *words = content_of(dictionary, OTLP_FUNCTIONS, id, &length);

	return (struct otlp_function_entry){
		.name = words[0],
		.filename = words[1],
		.start_line = words[2],
	};
}

uint32_t otlp_add_location(struct otlp_dictionary *dictionary,
			   const struct otlp_location_entry *location)
{
	push_long(dictionary, location->address);
	push_word(dictionary, location->mapping);
	push_word(dictionary, location->attribute_count);
	push_words(dictionary, location->attributes, location->attribute_count);
	push_words(dictionary, location->lines, (size_t)location->line_count * OTLP_LINE_WORDS);
	return add_pushed(dictionary, OTLP_LOCATIONS);
}

struct otlp_location_entry otlp_location(const struct otlp_dictionary *dictionary, uint32_t id)
{
	size_t length;
	const uint32_t *words = content_of(dictionary, OTLP_LOCATIONS, id, &length);
	uint32_t attribute_count = words[3];

	return (struct otlp_location_entry){
		.address = long_at(words),
		.mapping = words[2],
		.attribute_count = attribute_count,
		.attributes = words + LOCATION_WORDS,
		.line_count = (length - LOCATION_WORDS - attribute_count) / OTLP_LINE_WORDS,
		.lines = words + LOCATION_WORDS + attribute_count,
	};
}

uint32_t otlp_add_stack(struct otlp_dictionary *dictionary, const struct number_vector *locations)
{
	return add_entry(dictionary, OTLP_STACKS, locations);
}

uint32_t otlp_stack(const struct otlp_dictionary *dictionary, uint32_t id,
		    const uint32_t **locations)
{
	size_t length;

	*locations = content_of(dictionary, OTLP_STACKS, id, &length);
	return length;
}

/* --- uses --- */

/* Bytes of an array_value with the texts, each an AnyValue. */
static size_t texts_bytes(const struct otlp_dictionary *dictionary,
			  const struct otlp_attribute_entry *attribute)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < attribute->text_count; i++)
		bytes += otlp_field_bytes(
			otlp_field_bytes(otlp_string(dictionary, attribute->texts[i])->length));
	return otlp_field_bytes(bytes);
}

size_t otlp_value_field_bytes(const struct otlp_dictionary *dictionary,
			      const struct otlp_attribute_entry *attribute)
{
	size_t bytes = 0;

	if (attribute->kind == OTLP_VALUE_TEXT)
		bytes = otlp_field_bytes(otlp_string(dictionary, attribute->value)->length);
	else if (attribute->kind == OTLP_VALUE_NUMBER)
		bytes = 1 + otlp_varint_bytes(attribute->value);
	else if (attribute->kind == OTLP_VALUE_TRUE)
		bytes = 2;
	else if (attribute->kind == OTLP_VALUE_TEXTS)
		bytes = texts_bytes(dictionary, attribute);
	return otlp_field_bytes(bytes);
}

static void use_all(struct otlp_dictionary *dictionary, enum otlp_table table, const uint32_t *ids,
		    size_t count, size_t step)
{
	for (size_t i = 0; i < count; i++)
		otlp_dictionary_use(dictionary, table, ids[i * step]);
}

static size_t use_attribute(struct otlp_dictionary *dictionary, uint32_t id)
{
	struct otlp_attribute_entry attribute = otlp_attribute(dictionary, id);

	otlp_dictionary_use(dictionary, OTLP_STRINGS, attribute.key);
	return otlp_message_bytes(1 + otlp_value_field_bytes(dictionary, &attribute), 1);
}

static size_t use_mapping(struct otlp_dictionary *dictionary, uint32_t id)
{
	struct otlp_mapping_entry mapping = otlp_mapping(dictionary, id);
	size_t bytes = 3 + otlp_varint_bytes(mapping.memory_start) +
		       otlp_varint_bytes(mapping.memory_limit) +
		       otlp_varint_bytes(mapping.file_offset) + 1 +
		       otlp_packed_header_bytes(mapping.attribute_count);

	otlp_dictionary_use(dictionary, OTLP_STRINGS, mapping.filename);
	use_all(dictionary, OTLP_ATTRIBUTES, mapping.attributes, mapping.attribute_count, 1);
	return otlp_message_bytes(bytes, 1 + mapping.attribute_count);
}

static size_t use_function(struct otlp_dictionary *dictionary, uint32_t id)
{
	struct otlp_function_entry function = otlp_function(dictionary, id);

	otlp_dictionary_use(dictionary, OTLP_STRINGS, function.name);
	otlp_dictionary_use(dictionary, OTLP_STRINGS, function.filename);
	/* A field of 0 is not written. */
	return otlp_message_bytes(
		2 + (function.start_line ? 1 + otlp_varint_bytes(function.start_line) : 0), 2);
}

static size_t use_location(struct otlp_dictionary *dictionary, uint32_t id)
{
	struct otlp_location_entry location = otlp_location(dictionary, id);
	size_t bytes = 1 + otlp_varint_bytes(location.address) + 1 +
		       otlp_packed_header_bytes(location.attribute_count);

	for (uint32_t i = 0; i < location.line_count; i++) {
		const uint32_t *line = location.lines + (size_t)i * OTLP_LINE_WORDS;

		/* A field of 0 is not written. */
		bytes += otlp_message_bytes(2 + otlp_varint_bytes(line[1]) +
						    (line[2] ? 1 + otlp_varint_bytes(line[2]) : 0),
					    1);
	}
	otlp_dictionary_use(dictionary, OTLP_MAPPINGS, location.mapping);
	use_all(dictionary, OTLP_ATTRIBUTES, location.attributes, location.attribute_count, 1);
	use_all(dictionary, OTLP_FUNCTIONS, location.lines, location.line_count, OTLP_LINE_WORDS);
	return otlp_message_bytes(bytes, 1 + location.attribute_count + location.line_count);
}

static size_t use_stack(struct otlp_dictionary *dictionary, uint32_t id)
{
	const uint32_t *locations;
	uint32_t count = otlp_stack(dictionary, id, &locations);

	use_all(dictionary, OTLP_LOCATIONS, locations, count, 1);
	return otlp_message_bytes(otlp_packed_header_bytes(count), count);
}

/* Counts a use of each entry that this one refers to, and returns the bytes of this one. */
static size_t use_entry(struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id)
{
	switch (table) {
	case OTLP_STRINGS:
		return otlp_field_bytes(otlp_string(dictionary, id)->length);
	case OTLP_ATTRIBUTES:
		return use_attribute(dictionary, id);
	case OTLP_MAPPINGS:
		return use_mapping(dictionary, id);
	case OTLP_FUNCTIONS:
		return use_function(dictionary, id);
	case OTLP_LOCATIONS:
		return use_location(dictionary, id);
	default:
		return use_stack(dictionary, id);
	}
}

void otlp_dictionary_use(struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id)
{
	struct otlp_entries *entries = &dictionary->tables[table];
	struct otlp_reference reference = { .table = table, .id = id };

	if (!id || dictionary->err)
		return;
	dictionary->err = otlp_reference_vector_push(&dictionary->since_mark, reference);
	if (!dictionary->err && !entries->uses.items[id].count)
		dictionary->err = number_vector_push(&entries->used, id);
	if (dictionary->err)
		return;
	entries->references++;
	if (!entries->uses.items[id].count++) {
		/* This also counts other entries. */
		size_t bytes = use_entry(dictionary, table, id);

		dictionary->entry_bytes += bytes;
	}
}

void otlp_dictionary_mark(struct otlp_dictionary *dictionary)
{
	dictionary->since_mark.count = 0;
	dictionary->marked_entry_bytes = dictionary->entry_bytes;
	for (int i = 0; i < OTLP_TABLE_COUNT; i++)
		dictionary->marked_used[i] = dictionary->tables[i].used.count;
}

void otlp_dictionary_take_back(struct otlp_dictionary *dictionary)
{
	if (dictionary->err)
		return;
	for (size_t i = 0; i < dictionary->since_mark.count; i++) {
		const struct otlp_reference *reference = &dictionary->since_mark.items[i];
		struct otlp_entries *entries = &dictionary->tables[reference->table];

		entries->uses.items[reference->id].count--;
		entries->references--;
	}
	for (int i = 0; i < OTLP_TABLE_COUNT; i++)
		dictionary->tables[i].used.count = dictionary->marked_used[i];
	dictionary->entry_bytes = dictionary->marked_entry_bytes;
	dictionary->since_mark.count = 0;
}

size_t otlp_dictionary_bytes(const struct otlp_dictionary *dictionary)
{
	size_t bytes = dictionary->entry_bytes + ZERO_ENTRIES_BYTES;

	for (int i = 0; i < OTLP_TABLE_COUNT; i++) {
		const struct otlp_entries *entries = &dictionary->tables[i];

		bytes += entries->references * otlp_varint_bytes(entries->used.count);
	}
	return otlp_field_bytes(bytes);
}

/* Most used first. Equal ones in the order of adding, so that equal input gives equal bytes. */
static int compare_heat(const void *a, const void *b, void *context)
{
	const struct otlp_entry_use *uses = context;
	uint32_t id_a = *(const uint32_t *)a, id_b = *(const uint32_t *)b;

	if (uses[id_a].count != uses[id_b].count)
		return uses[id_a].count < uses[id_b].count ? 1 : -1;
	return (id_a > id_b) - (id_a < id_b);
}

void otlp_dictionary_set_indexes(struct otlp_dictionary *dictionary)
{
	for (int i = 0; i < OTLP_TABLE_COUNT; i++) {
		struct otlp_entries *entries = &dictionary->tables[i];
		struct number_vector *used = &entries->used;

		if (used->count)
			qsort_r(used->items, used->count, sizeof(*used->items), compare_heat,
				entries->uses.items);
		for (size_t j = 0; j < used->count; j++)
			entries->uses.items[used->items[j]].index = j + 1;
	}
}

uint32_t otlp_index(const struct otlp_dictionary *dictionary, enum otlp_table table, uint32_t id)
{
	const struct otlp_entry_use *use = &dictionary->tables[table].uses.items[id];

	assert(!id || use->count);
	return use->index;
}

void otlp_dictionary_forget_uses(struct otlp_dictionary *dictionary)
{
	for (int i = 0; i < OTLP_TABLE_COUNT; i++) {
		struct otlp_entries *entries = &dictionary->tables[i];

		for (size_t j = 0; j < entries->used.count; j++)
			entries->uses.items[entries->used.items[j]] = (struct otlp_entry_use){ 0 };
		entries->used.count = 0;
		entries->references = 0;
	}
	dictionary->entry_bytes = 0;
	otlp_dictionary_mark(dictionary);
}
