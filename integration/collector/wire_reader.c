/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the wire format. No length is trusted: all reads go through take_bytes() or a span. */

#include "integration/collector/wire_reader.h"

#include <inttypes.h>
#include <stdio.h>

/* Wire types of the format. */
enum format_type {
	FORMAT_VARINT = 0,
	FORMAT_FIXED64 = 1,
	FORMAT_LENGTH = 2,
	FORMAT_FIXED32 = 5,
};

enum { VARINT_MAX_BYTES = 10 };

void wire_reader_init(struct wire_reader *reader, const struct wire_message *message,
		      struct span bytes, struct findings *findings)
{
	*reader = (struct wire_reader){
		.left = bytes,
		.message = message,
		.findings = findings,
	};
}

/* Takes the first @count bytes of @left, which advances; false if there are fewer. */
static bool take_bytes(struct span *left, size_t count, struct span *taken)
{
	if (count > left->count)
		return false;
	*taken = (struct span){ left->bytes, count };
	if (count) {
		left->bytes += count;
		left->count -= count;
	}
	return true;
}

static bool take_fixed64(struct span *left, uint64_t *value)
{
	struct span bytes;

	if (!take_bytes(left, sizeof(uint64_t), &bytes))
		return false;
	*value = 0;
	for (int i = 7; i >= 0; i--)
		*value = *value << 8 | bytes.bytes[i];
	return true;
}

/*
 * False if the varint is truncated or has more than 64 bits. *@is_minimal: no shorter one has the
 * value.
 */
static bool take_varint(struct span *left, uint64_t *value, bool *is_minimal)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < VARINT_MAX_BYTES && i < left->count; i++) {
		uint8_t byte = left->bytes[i];

		if (i == VARINT_MAX_BYTES - 1 && byte > 1)
			return false;
		sum |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		*is_minimal = byte || !i;
		*value = sum;
		left->bytes += i + 1;
		left->count -= i + 1;
		return true;
	}
	return false;
}

static bool fits_type(uint64_t value, enum wire_type type)
{
	switch (type) {
	case WIRE_INT32:
	case WIRE_INT32_LIST:
		return (int64_t)value == (int32_t)value;
	case WIRE_UINT32:
		return value <= UINT32_MAX;
	case WIRE_BOOL:
		return value <= 1;
	default:
		return true;
	}
}

/* Takes a varint, and checks that it is minimal and fits @type. */
static bool take_number(struct span *left, enum wire_type type, const char *where, const char *name,
			struct findings *findings, uint64_t *value)
{
	bool is_minimal;

	if (!take_varint(left, value, &is_minimal)) {
		findings_add(findings, RULE_WIRE, "%s.%s: a number is cut off or too long", where,
			     name);
		return false;
	}
	if (!is_minimal || !fits_type(*value, type))
		findings_add(findings, RULE_VARINTS, "%s.%s: %" PRIu64 "%s", where, name, *value,
			     is_minimal ? " does not fit" : " has empty bytes behind it");
	return true;
}

static enum format_type format_of(enum wire_type type)
{
	switch (type) {
	case WIRE_INT32:
	case WIRE_INT64:
	case WIRE_UINT32:
	case WIRE_UINT64:
	case WIRE_BOOL:
		return FORMAT_VARINT;
	case WIRE_DOUBLE:
	case WIRE_FIXED64:
		return FORMAT_FIXED64;
	default:
		return FORMAT_LENGTH;
	}
}

/* Reads the value after a tag of @format, for any field. */
static bool take_payload(struct wire_reader *reader, enum format_type format, const char *name,
			 enum wire_type type, struct wire_value *value)
{
	const char *where = reader->message->name;
	uint64_t count;
	bool is_there;

	value->number_value = 0;
	value->span = (struct span){ NULL, 0 };
	switch (format) {
	case FORMAT_VARINT:
		return take_number(&reader->left, type, where, name, reader->findings,
				   &value->number_value);
	case FORMAT_FIXED64:
		is_there = take_fixed64(&reader->left, &value->number_value);
		break;
	case FORMAT_FIXED32:
		is_there = take_bytes(&reader->left, sizeof(uint32_t), &value->span);
		break;
	case FORMAT_LENGTH:
		if (!take_number(&reader->left, WIRE_UINT32, where, name, reader->findings, &count))
			return false;
		is_there = take_bytes(&reader->left, count, &value->span);
		break;
	default:
		findings_add(reader->findings, RULE_WIRE, "%s.%s: wire type %d", where, name,
			     format);
		return false;
	}
	if (!is_there)
		findings_add(reader->findings, RULE_WIRE, "%s.%s: cut off", where, name);
	return is_there;
}

static const struct wire_field *find_field(const struct wire_message *message, uint64_t number)
{
	const struct wire_field *field = message->fields;

	while (field->number && field->number != number)
		field++;
	return field->number ? field : NULL;
}

/* Checks the value of a known field with the right wire type. */
static void check_value(struct wire_reader *reader, const struct wire_field *field,
			const struct wire_value *value)
{
	const char *where = reader->message->name;
	bool is_list = field->type >= WIRE_INT32_LIST;
	bool is_number = format_of(field->type) != FORMAT_LENGTH;
	uint64_t bit = 1ULL << (field->number & 63);

	if ((reader->seen & bit) && !(field->flags & WIRE_REPEATED))
		findings_add(reader->findings, RULE_ONCE, "%s.%s", where, field->name);
	reader->seen |= bit;
	if (!(field->flags & (WIRE_PRESENCE | WIRE_REPEATED)) && field->type != WIRE_MESSAGE &&
	    (is_number ? !value->number_value : !value->span.count))
		findings_add(reader->findings, RULE_DEFAULTS, "%s.%s%s", where, field->name,
			     is_list ? " is an empty list" : "");
	if (field->type == WIRE_STRING) {
		size_t valid = utf8_valid_bytes(value->span);

		if (valid < value->span.count)
			findings_add(reader->findings, RULE_UTF8,
				     "%s.%s: byte %zu of \"%.*s\" is 0x%02x", where, field->name,
				     valid, (int)(valid < 80 ? valid : 80),
				     (const char *)value->span.bytes, value->span.bytes[valid]);
	}
}

bool wire_reader_next(struct wire_reader *reader, struct wire_value *value)
{
	const char *where = reader->message->name;

	while (reader->left.count) {
		const struct wire_field *field;
		enum format_type format;
		char unknown[24];
		uint64_t tag;

		if (!take_number(&reader->left, WIRE_UINT32, where, "tag", reader->findings, &tag))
			break;
		field = find_field(reader->message, tag >> 3);
		format = tag & 7;
		snprintf(unknown, sizeof(unknown), "%" PRIu64, tag >> 3);
		if (!take_payload(reader, format, field ? field->name : unknown,
				  field ? (enum wire_type)field->type : WIRE_UINT64, value))
			break;
		if (!field) {
			findings_add(reader->findings, RULE_FIELDS, "%s has a field %s", where,
				     unknown);
			continue;
		}
		if (format != format_of(field->type)) {
			findings_add(reader->findings, RULE_TYPES, "%s.%s has wire type %d", where,
				     field->name, format);
			continue;
		}
		check_value(reader, field, value);
		value->number = field->number;
		value->type = field->type;
		return true;
	}
	reader->left.count = 0;
	return false;
}

bool wire_numbers_next(struct wire_value *value, const char *name, struct findings *findings,
		       uint64_t *number)
{
	struct span *left = &value->span;
	bool is_there;

	if (!left->count)
		return false;
	if (value->type != WIRE_FIXED64_LIST) {
		is_there = take_number(left, value->type, name, "list", findings, number);
	} else {
		is_there = take_fixed64(left, number);
		if (!is_there)
			findings_add(findings, RULE_WIRE, "%s: the last number is cut off", name);
	}
	if (!is_there)
		left->count = 0;
	return is_there;
}

/*
 * Bytes of the character at @at, with @left bytes available; 0 if it is invalid (Unicode, table
 * 3-7).
 */
static size_t character_bytes(const uint8_t *at, size_t left)
{
	size_t count = at[0] < 0x80		      ? 1 :
		       at[0] >= 0xc2 && at[0] <= 0xdf ? 2 :
		       at[0] >= 0xe0 && at[0] <= 0xef ? 3 :
		       at[0] >= 0xf0 && at[0] <= 0xf4 ? 4 :
							0;

	if (!count || count > left)
		return 0;
	for (size_t i = 1; i < count; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong encodings, surrogates, and characters beyond U+10FFFF. */
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return count;
}

size_t utf8_valid_bytes(struct span text)
{
	size_t at = 0;

	while (at < text.count) {
		size_t bytes = character_bytes(text.bytes + at, text.count - at);

		if (!bytes)
			break;
		at += bytes;
	}
	return at;
}
