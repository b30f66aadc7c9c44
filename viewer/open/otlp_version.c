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
 */
#include "viewer/open/otlp_version.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	WIRE_TYPE_BITS = 3,
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_BYTES = 2,
	WIRE_32_BITS = 5,
};

enum otlp_version {
	OTLP_1_10,
	OTLP_1_9,
	OTLP_BEFORE_1_9,
};

struct wire_field {
	uint32_t number;
	uint32_t type;
	/* The value, if it has a length. */
	const void *bytes;
	size_t count;
};

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
		byte_reader_uleb128(reader);
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

static enum otlp_version sample_version(const void *bytes, size_t count)
{
	bool has_second = false, has_numbers = false;
	struct byte_reader reader;
	struct wire_field field;

	byte_reader_init(&reader, bytes, count);
	while (next_field(&reader, &field)) {
		if (field.number == 3 && field.type == WIRE_BYTES)
			return OTLP_1_9;
		has_second |= field.number == 2;
		has_numbers |= field.number == 4 || field.number == 5;
	}
	/* In 1.10 such a sample would count nothing. */
	return has_second && !has_numbers ? OTLP_1_9 : OTLP_1_10;
}

static enum otlp_version profile_version(const void *bytes, size_t count)
{
	enum otlp_version version = OTLP_1_10;
	struct byte_reader reader;
	struct wire_field field;

	byte_reader_init(&reader, bytes, count);
	while (next_field(&reader, &field)) {
		if (field.number == 3 && field.type == WIRE_BYTES)
			return OTLP_BEFORE_1_9;
		if (field.number == 2 && field.type == WIRE_BYTES && version == OTLP_1_10)
			version = sample_version(field.bytes, field.count);
	}
	return version;
}

/* The version of the profiles at @depth levels of messages, which are the second field of each but the outermost. */
static enum otlp_version version_below(const void *bytes, size_t count, int depth)
{
	enum otlp_version version = OTLP_1_10;
	const bool is_request = depth == 2;
	struct byte_reader reader;
	struct wire_field field;

	byte_reader_init(&reader, bytes, count);
	while (version == OTLP_1_10 && next_field(&reader, &field)) {
		if (field.type != WIRE_BYTES || field.number != (is_request ? 1 : 2))
			continue;
		version = depth ? version_below(field.bytes, field.count, depth - 1) :
				  profile_version(field.bytes, field.count);
	}
	return version;
}

int otlp_version_check(const void *bytes, size_t count)
{
	enum otlp_version version = version_below(bytes, count, 2);

	if (version == OTLP_1_10)
		return 0;
	return fail(
		-EOPNOTSUPP,
		"it has OTLP profiles of %s, and only those of 1.10 can be opened; take them with a newer version of the tool that made it",
		version == OTLP_1_9 ? "version 1.9" : "a version before 1.9");
}
