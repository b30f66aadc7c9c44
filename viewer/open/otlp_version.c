/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of fields: opentelemetry/proto/profiles/v1development/profiles.proto @ v1.8.0, v1.9.0, v1.10.0.
 *
 *                 1.8                      1.9                      1.10
 * Profile 3       location_indices         time, fixed64            time, fixed64
 * Sample  2       locations_length         values                   attribute_indices
 *         3       values                   attribute_indices        link_index
 *         4       attribute_indices        link_index               values
 *         5       link_index               timestamps               timestamps
 *
 * A sample with only the second field and timestamps has values in 1.9 and attributes in 1.10. Then the tables decide: 1.9 has as
 * many values as timestamps, and 1.10 has no attribute in its table that nothing refers to.
 */
#include "viewer/open/otlp_version.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	WIRE_TYPE_BITS = 3,
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_BYTES = 2,
	WIRE_32_BITS = 5,
};

enum {
	/* References to further attributes are not looked at. */
	ATTRIBUTES_MAX = 1 << 20,
};

struct wire_field {
	uint32_t number;
	uint32_t type;
	/* The value of a WIRE_VARINT. */
	uint64_t value;
	/* The value, if it has a length. */
	const void *bytes;
	size_t count;
};

/* Findings in a file. */
struct version_search {
	/* Samples, or a profile, that only one version has. */
	bool is_before_1_9;
	bool is_1_9;
	bool is_1_10;
	/* There are samples that both 1.9 and 1.10 may have. */
	bool has_unclear;
	/* One of these has a number that is no index of the attribute table. */
	bool has_other_numbers;
	/* One has not as many numbers as timestamps, or has an attribute that is only a sample's. */
	bool has_attributes;
	uint64_t attribute_count;
	/* By index of the attribute: a mapping, a location or a profile refers to it. */
	bool *is_shared;
};

/* The numbers of fields of messages in each other, and 0 behind the last. */
struct field_path {
	uint8_t numbers[6];
};

static const struct field_path profile_third = { { 1, 2, 2, 3 } };
static const struct field_path profile_samples = { { 1, 2, 2, 2 } };
static const struct field_path profile_attributes = { { 1, 2, 2, 11 } };
static const struct field_path attribute_table = { { 2, 6 } };
static const struct field_path mapping_attributes = { { 2, 1, 5 } };
static const struct field_path location_attributes = { { 2, 2, 4 } };

typedef void field_function(struct version_search *search, const struct wire_field *field);

/* Reads the next field; false at the end and for damaged bytes. */
static bool next_field(struct byte_reader *reader, struct wire_field *field)
{
	uint64_t tag;

	if (!byte_reader_left(reader))
		return false;
	tag = byte_reader_uleb128(reader);
	*field = (struct wire_field){
		.number = (uint32_t)(tag >> WIRE_TYPE_BITS),
		.type = tag & ((1 << WIRE_TYPE_BITS) - 1),
	};
	switch (field->type) {
	case WIRE_VARINT:
		field->value = byte_reader_uleb128(reader);
		break;
	case WIRE_64_BITS:
		byte_reader_skip(reader, 8);
		break;
	case WIRE_BYTES:
		field->count = byte_reader_uleb128(reader);
		field->bytes = byte_reader_bytes(reader, field->count);
		break;
	case WIRE_32_BITS:
		byte_reader_skip(reader, 4);
		break;
	default:
		return false;
	}
	return !byte_reader_failed(reader);
}

/* Calls @take for each field at @path, from its level @depth on. */
static void each_field_below(struct version_search *search, const void *bytes, size_t count,
			     const struct field_path *path, uint32_t depth, field_function *take)
{
	struct byte_reader reader;
	struct wire_field field;

	byte_reader_init(&reader, bytes, count);
	while (next_field(&reader, &field)) {
		if (field.number != path->numbers[depth])
			continue;
		if (!path->numbers[depth + 1])
			take(search, &field);
		else if (field.type == WIRE_BYTES)
			each_field_below(search, field.bytes, field.count, path, depth + 1, take);
	}
}

static void each_field(struct version_search *search, const void *bytes, size_t count,
		       const struct field_path *path, field_function *take)
{
	each_field_below(search, bytes, count, path, 0, take);
}

/* Calls @take for each number of a repeated field, and returns how many there are. */
static uint64_t each_number(struct version_search *search, const struct wire_field *field,
			    void (*take)(struct version_search *search, uint64_t number))
{
	struct byte_reader reader;
	uint64_t count = 0;

	if (field->type == WIRE_VARINT)
		take(search, field->value);
	if (field->type != WIRE_BYTES)
		return field->type == WIRE_VARINT;
	for (byte_reader_init(&reader, field->bytes, field->count); byte_reader_left(&reader);
	     count++)
		take(search, byte_reader_uleb128(&reader));
	return count;
}

/* --- samples and profiles that only one version has --- */

static void check_profile(struct version_search *search, const struct wire_field *field)
{
	search->is_before_1_9 |= field->type == WIRE_BYTES;
}

static void check_sample(struct version_search *search, const struct wire_field *sample)
{
	bool has_second = false, has_later = false, is_1_9 = false, is_1_10 = false;
	struct byte_reader reader;
	struct wire_field field;

	byte_reader_init(&reader, sample->bytes, sample->type == WIRE_BYTES ? sample->count : 0);
	while (next_field(&reader, &field)) {
		has_second |= field.number == 2;
		has_later |= field.number == 4 || field.number == 5;
		is_1_9 |= field.number == 3 && field.type == WIRE_BYTES;
		is_1_10 |= field.number == 3 && field.type == WIRE_VARINT;
		is_1_10 |= field.number == 4 && field.type == WIRE_BYTES;
	}
	/* In 1.10 such a sample would count nothing. */
	is_1_9 |= has_second && !has_later;
	search->is_1_9 |= is_1_9;
	search->is_1_10 |= is_1_10;
	search->has_unclear |= has_second && !is_1_9 && !is_1_10;
}

/* --- samples of which only the tables know the version --- */

static void count_attribute(struct version_search *search, const struct wire_field *field)
{
	(void)field;
	search->attribute_count++;
}

static void share_attribute(struct version_search *search, uint64_t number)
{
	if (number < ATTRIBUTES_MAX)
		search->is_shared[number] = true;
}

static void share_attributes(struct version_search *search, const struct wire_field *field)
{
	each_number(search, field, share_attribute);
}

static void check_number(struct version_search *search, uint64_t number)
{
	/* Index 0 is none. */
	if (!number || number >= search->attribute_count)
		search->has_other_numbers = true;
	else if (number < ATTRIBUTES_MAX)
		search->has_attributes |= !search->is_shared[number];
}

static void check_unclear(struct version_search *search, const struct wire_field *sample)
{
	uint64_t numbers = 0, times = 0;
	struct byte_reader reader;
	struct wire_field field;

	byte_reader_init(&reader, sample->bytes, sample->type == WIRE_BYTES ? sample->count : 0);
	while (next_field(&reader, &field)) {
		if (field.number == 2)
			numbers += each_number(search, &field, check_number);
		else if (field.number == 5)
			times += field.type == WIRE_BYTES ? field.count / 8 : 1;
	}
	search->has_attributes |= numbers && times && numbers != times;
}

static int compare_with_tables(struct version_search *search, const void *bytes, size_t count)
{
	search->is_shared = calloc(ATTRIBUTES_MAX, sizeof(*search->is_shared));
	if (!search->is_shared)
		return -ENOMEM;
	each_field(search, bytes, count, &attribute_table, count_attribute);
	each_field(search, bytes, count, &mapping_attributes, share_attributes);
	each_field(search, bytes, count, &location_attributes, share_attributes);
	each_field(search, bytes, count, &profile_attributes, share_attributes);
	each_field(search, bytes, count, &profile_samples, check_unclear);
	search->is_1_9 = search->has_other_numbers || !search->has_attributes;
	free(search->is_shared);
	return 0;
}

int otlp_version_check(const void *bytes, size_t count)
{
	struct version_search search = { 0 };
	int err = 0;

	each_field(&search, bytes, count, &profile_third, check_profile);
	each_field(&search, bytes, count, &profile_samples, check_sample);
	if (search.has_unclear && !search.is_before_1_9 && !search.is_1_9 && !search.is_1_10)
		err = compare_with_tables(&search, bytes, count);
	if (err || (!search.is_before_1_9 && !search.is_1_9))
		return err;
	return fail(
		-EOPNOTSUPP,
		"it has OTLP profiles of %s, and only those of 1.10 can be opened; take them with a newer version of the tool that made it",
		search.is_before_1_9 ? "a version before 1.9" : "version 1.9");
}
