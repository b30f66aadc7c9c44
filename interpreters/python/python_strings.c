/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths and pointers are hostile: no more than the limit of a name is read, whatever they are.
 */
#include "interpreters/python/python_strings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	/** The largest header of a str: not compact, in a debug build with the list of objects. */
	HEADER_MAX_BYTES = 128,
	/** Number of characters that are read at once. */
	CHUNK_CHARACTERS = 1024,
};

/** The location of a string's characters. */
struct characters {
	uint64_t address;
	uint64_t count;
	/** 1, 2 or 4. */
	uint32_t width;
	/** The string has bytes, as in 2.7; by convention they are UTF-8. */
	bool is_encoded;
};

static uint64_t header_u64(const uint8_t *header, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, header + offset, sizeof(value));
	return value;
}

static uint32_t character_at(const uint8_t *bytes, uint32_t width)
{
	uint32_t character = 0;

	memcpy(&character, bytes, width);
	return character;
}

/* Appends as much of @bytes as fits; false once the text is full. */
static bool append_characters(const struct characters *characters, const uint8_t *bytes,
			      size_t size, char *text, size_t *length)
{
	for (size_t i = 0, step; i < size; i += step) {
		char encoded[TEXT_UTF8_MAX_BYTES];
		uint32_t character;
		size_t count;

		step = characters->width;
		character = characters->is_encoded ? text_decode_utf8(bytes + i, size - i, &step) :
						     character_at(bytes + i, characters->width);
		count = text_encode_utf8(character, encoded);
		if (*length + count > FRAME_NAME_MAX_BYTES)
			return false;
		memcpy(text + *length, encoded, count);
		*length += count;
	}
	return true;
}

static int read_characters(struct remote_memory *memory, const struct characters *characters,
			   char *text, size_t *length)
{
	uint8_t chunk[CHUNK_CHARACTERS * 4];
	/* A chunk must not end within an encoded character. */
	uint64_t at_once = characters->is_encoded ? sizeof(chunk) : CHUNK_CHARACTERS;
	uint64_t address = characters->address, left = characters->count;

	while (left) {
		uint64_t count = left < at_once ? left : at_once;
		size_t size = count * characters->width;
		int err = remote_memory_read(memory, address, chunk, size);

		if (err)
			return err;
		if (!append_characters(characters, chunk, size, text, length))
			return 0;
		address += size;
		left -= count;
	}
	return 0;
}

static int check_characters(const struct characters *characters)
{
	if (characters->count > INT64_MAX / 4 || !characters->address)
		return fail(-EBADMSG, "no string of %" PRIu64 " characters at %#" PRIx64,
			    characters->count, characters->address);
	return 0;
}

/* Finds the characters according to PEP 393; @header is the header of the object at @address. */
static int find_characters(const struct python_string_layout *layout, uint64_t address,
			   const uint8_t *header, struct characters *characters)
{
	uint32_t state, kind;
	bool is_compact, is_ascii;

	memcpy(&state, header + layout->state, sizeof(state));
	kind = state >> layout->kind_shift & 7;
	is_compact = state >> (layout->kind_shift + 3) & 1;
	is_ascii = state >> (layout->kind_shift + 4) & 1;
	characters->is_encoded = false;
	if (kind == 0 && !is_compact && layout->wide) {
		/* Up to 3.11: the old interface has made the string, and it was not used yet. */
		characters->width = 4;
		characters->address = header_u64(header, layout->wide);
		characters->count = header_u64(header, layout->wide_length);
		return check_characters(characters);
	}
	if (kind != 1 && kind != 2 && kind != 4)
		return fail(-EBADMSG, "a string of kind %u at %#" PRIx64, kind, address);
	characters->width = kind;
	characters->count = header_u64(header, layout->length);
	characters->address = !is_compact ? header_u64(header, layout->compact_bytes) :
			      is_ascii	  ? address + layout->ascii_bytes :
					    address + layout->compact_bytes;
	return check_characters(characters);
}

int python_string_read(struct remote_memory *memory, const struct python_layout *layout,
		       uint64_t address, python_text text, size_t *length)
{
	const struct python_string_layout *string = &layout->string;
	struct characters characters;
	uint8_t header[HEADER_MAX_BYTES];
	size_t written = 0;
	int err;

	if (string->is_bytes) {
		err = remote_memory_read(memory, address, header, layout->bytes.data);
		if (err)
			return err;
		characters = (struct characters){
			.address = address + layout->bytes.data,
			.count = header_u64(header, layout->bytes.size),
			.width = 1,
			.is_encoded = true,
		};
		err = check_characters(&characters);
		/* One read, so that only the last character may be cut. */
		if (characters.count > FRAME_NAME_MAX_BYTES)
			characters.count = FRAME_NAME_MAX_BYTES;
	} else {
		/* An ASCII string may be at the end of its page, so only its header can be read for sure. */
		err = remote_memory_read(memory, address, header, string->ascii_bytes);
		if (err)
			return err;
		if (!(header[string->state + (string->kind_shift + 3) / 8] >>
			      ((string->kind_shift + 3) % 8) &
		      1)) {
			err = remote_memory_read(memory, address, header,
						 string->compact_bytes + sizeof(uint64_t));
			if (err)
				return err;
		}
		err = find_characters(string, address, header, &characters);
	}
	if (!err)
		err = read_characters(memory, &characters, text, &written);
	if (err)
		return err;
	if (string->is_bytes && characters.count == FRAME_NAME_MAX_BYTES)
		written = text_cut_length(text, written, FRAME_NAME_MAX_BYTES);
	text[written] = '\0';
	*length = written;
	return 0;
}

int python_bytes_read(struct remote_memory *memory, const struct python_layout *layout,
		      uint64_t address, size_t limit, struct elf_bytes *bytes)
{
	uint64_t size;
	uint8_t *data;
	int err;

	err = remote_memory_read(memory, address + layout->bytes.size, &size, sizeof(size));
	if (err)
		return err;
	if (size > limit)
		return fail(-E2BIG, "%" PRIu64 " bytes at %#" PRIx64, size, address);
	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	err = remote_memory_read(memory, address + layout->bytes.data, data, size);
	if (err) {
		free(data);
		return err;
	}
	*bytes = (struct elf_bytes){ .data = data, .size = size };
	return 0;
}
