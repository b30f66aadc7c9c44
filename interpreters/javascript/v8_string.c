/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_string.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

int v8_is_string(const struct v8_heap *heap, uint64_t object, bool *is_string)
{
	uint16_t type = 0;
	int err = v8_instance_type(heap, &object, &type);

	if (!err)
		*is_string = type < heap->layout->type_first_nonstring;
	return err;
}

/* Reads instance type and length of a string. If the collector has moved it, *@string is set to the new address. */
static int read_header(const struct v8_heap *heap, uint64_t *string, uint16_t *type,
		       uint32_t *length)
{
	int32_t count = 0;
	int err = v8_instance_type(heap, string, type);

	if (!err && *type >= heap->layout->type_first_nonstring)
		err = fail(-EBADMSG, "an object of type %u where a string is", *type);
	if (!err)
		err = v8_field_int(heap, *string, heap->layout->string_length, &count);
	if (!err && (count < 0 || count > V8_STRING_MAX_CHARACTERS))
		err = fail(-EBADMSG, "a string of %d characters", count);
	if (!err)
		*length = (uint32_t)count;
	return err;
}

static int push_part(struct v8_string_reader *reader, uint64_t string, uint32_t from,
		     uint32_t count)
{
	if (!count)
		return 0;
	if (reader->part_count == V8_STRING_MAX_DEPTH)
		return fail(-E2BIG, "a string of too many parts");
	reader->parts[reader->part_count++] =
		(struct v8_string_part){ .string = string, .from = from, .count = count };
	return 0;
}

/* Splits a cons string. The length of the first string is its own, whatever the length of the whole is. */
static int push_cons(struct v8_string_reader *reader, const struct v8_string_part *part)
{
	const struct v8_layout *layout = reader->heap->layout;
	uint64_t first = 0, second = 0, header;
	uint32_t first_length = 0, of_first;
	uint16_t type = 0;
	int err = v8_field(reader->heap, part->string, layout->cons_first, &first);

	if (!err)
		err = v8_field(reader->heap, part->string, layout->cons_second, &second);
	header = first;
	if (!err)
		err = read_header(reader->heap, &header, &type, &first_length);
	if (err)
		return err;
	if (part->from >= first_length)
		return push_part(reader, second, part->from - first_length, part->count);
	of_first = first_length - part->from < part->count ? first_length - part->from :
							     part->count;
	err = push_part(reader, second, 0, part->count - of_first);
	return err ? err : push_part(reader, first, part->from, of_first);
}

static int push_slice(struct v8_string_reader *reader, const struct v8_string_part *part)
{
	const struct v8_layout *layout = reader->heap->layout;
	uint64_t parent = 0;
	int32_t offset = 0;
	int err = v8_field(reader->heap, part->string, layout->sliced_parent, &parent);

	if (!err)
		err = v8_field_smi(reader->heap, part->string, layout->sliced_offset, &offset);
	if (!err && (offset < 0 || offset > V8_STRING_MAX_CHARACTERS))
		err = fail(-EBADMSG, "a slice from character %d on", offset);
	return err ? err : push_part(reader, parent, part->from + (uint32_t)offset, part->count);
}

static int push_thin(struct v8_string_reader *reader, const struct v8_string_part *part)
{
	uint64_t actual = 0;
	int err = v8_field(reader->heap, part->string, reader->heap->layout->thin_actual, &actual);

	return err ? err : push_part(reader, actual, part->from, part->count);
}

static int find_characters(struct v8_string_reader *reader, const struct v8_string_part *part,
			   uint16_t type)
{
	const struct v8_layout *layout = reader->heap->layout;
	uint64_t address = part->string - V8_TAG + layout->string_characters;

	if ((type & V8_STRING_REPRESENTATION) == V8_STRING_EXTERNAL) {
		int err;

		if (type & V8_STRING_UNCACHED)
			return fail(-EBADMSG, "an external string whose characters are not known");
		err = v8_field(reader->heap, part->string, layout->external_data, &address);
		if (err)
			return err;
	}
	reader->is_one_byte = type & V8_STRING_ONE_BYTE;
	reader->address = address + (uint64_t)part->from * (reader->is_one_byte ? 1 : 2);
	reader->left = part->count;
	return 0;
}

/* Splits the next part, or finds its characters. */
static int take_part(struct v8_string_reader *reader)
{
	struct v8_string_part part = reader->parts[--reader->part_count];
	uint32_t length = 0;
	uint16_t type = 0;
	int err;

	if (!reader->parts_left--)
		return fail(-E2BIG, "a string of too many parts");
	err = read_header(reader->heap, &part.string, &type, &length);
	if (err)
		return err;
	/* The string's own length may be less than the range that refers to it. */
	if (part.from >= length)
		return 0;
	if (part.count > length - part.from)
		part.count = length - part.from;
	switch (type & V8_STRING_REPRESENTATION) {
	case V8_STRING_CONS:
		return push_cons(reader, &part);
	case V8_STRING_SLICED:
		return push_slice(reader, &part);
	case V8_STRING_THIN:
		return push_thin(reader, &part);
	case V8_STRING_SEQUENTIAL:
	case V8_STRING_EXTERNAL:
		return find_characters(reader, &part, type);
	default:
		return fail(-EBADMSG, "a string of type %u", type);
	}
}

int v8_string_open(struct v8_string_reader *reader, const struct v8_heap *heap, uint64_t string,
		   uint32_t *length)
{
	uint16_t type = 0;
	int err = read_header(heap, &string, &type, length);

	if (err)
		return err;
	reader->heap = heap;
	reader->part_count = 0;
	reader->parts_left = V8_STRING_MAX_PARTS;
	reader->left = 0;
	reader->is_one_byte = false;
	return push_part(reader, string, 0, *length);
}

int v8_string_next(struct v8_string_reader *reader, uint32_t *count)
{
	uint32_t wanted;
	void *to;
	int err;

	while (!reader->left && reader->part_count) {
		err = take_part(reader);
		if (err)
			return err;
	}
	wanted = reader->left < V8_STRING_CHUNK_CHARACTERS ? reader->left :
							     V8_STRING_CHUNK_CHARACTERS;
	to = reader->is_one_byte ? (void *)reader->bytes : (void *)reader->chunk;
	if (wanted) {
		size_t bytes = (size_t)wanted * (reader->is_one_byte ? 1 : 2);

		err = remote_memory_read(reader->heap->memory, reader->address, to, bytes);
		if (err)
			return err;
		reader->address += bytes;
		reader->left -= wanted;
		for (uint32_t i = 0; reader->is_one_byte && i < wanted; i++)
			reader->chunk[i] = reader->bytes[i];
	}
	*count = wanted;
	return 0;
}

static bool is_high_half(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_half(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

/** A UTF-8 text that grows up to a limit. */
struct utf8_text {
	char *text;
	size_t capacity;
	size_t length;
	/** A high surrogate that waits for its low one; 0: there is none. */
	uint32_t high;
	bool is_full;
};

static void append_character(struct utf8_text *to, uint32_t character)
{
	char encoded[TEXT_UTF8_MAX_BYTES];
	size_t bytes = text_encode_utf8(character, encoded);

	if (to->is_full || to->length + bytes >= to->capacity) {
		to->is_full = true;
		return;
	}
	memcpy(to->text + to->length, encoded, bytes);
	to->length += bytes;
}

static void append_unit(struct utf8_text *to, uint32_t unit)
{
	uint32_t high = to->high;

	to->high = 0;
	if (high && is_low_half(unit)) {
		append_character(to, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
		return;
	}
	if (high)
		append_character(to, TEXT_REPLACEMENT);
	if (is_high_half(unit))
		to->high = unit;
	else
		append_character(to, unit);
}

int v8_string_read(const struct v8_heap *heap, uint64_t string, char *text, size_t capacity,
		   size_t *length)
{
	_cleanup_(free_pointer) struct v8_string_reader *reader = malloc(sizeof(*reader));
	struct utf8_text to = { .text = text, .capacity = capacity };
	uint32_t count = 0;
	int err;

	if (!reader)
		return -ENOMEM;
	err = v8_string_open(reader, heap, string, &count);
	while (!err && count && !to.is_full) {
		err = v8_string_next(reader, &count);
		for (uint32_t i = 0; !err && i < count; i++)
			append_unit(&to, reader->chunk[i]);
	}
	if (err)
		return err;
	if (to.high)
		append_character(&to, TEXT_REPLACEMENT);
	text[to.length] = '\0';
	*length = to.length;
	return 0;
}
