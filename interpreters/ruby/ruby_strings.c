/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/ruby/ruby_strings.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	/** ruby_value_type, the low bits of an object's flags. */
	TYPE_MASK = 0x1f,
	TYPE_STRING = 5,
	TYPE_ARRAY = 7,
	/** Flags of a String (RSTRING_NOEMBED) and of an Array (RARRAY_EMBED_FLAG). */
	STRING_IS_SEPARATE = 1 << 13,
	ARRAY_IS_EMBEDDED = 1 << 13,
	/** Bits of the length of an embedded String or Array. */
	EMBEDDED_STRING_SHIFT = 14,
	EMBEDDED_STRING_MASK = 0x1f,
	EMBEDDED_ARRAY_SHIFT = 15,
	EMBEDDED_ARRAY_MASK = 0x7f,
	/** Number of bytes of struct RString and RArray that are read. */
	HEADER_BYTES = 40,
	ARRAY_EMBEDDED = 16,
	ARRAY_LENGTH = 16,
	ARRAY_POINTER = 32,
	/** symbol.c: names are in arrays of ID_ENTRY_UNIT pairs, in an array that ruby_global_symbols has. */
	SYMBOLS_ARRAYS = 16,
	SYMBOLS_IN_ARRAY = 512,
	SYMBOL_VALUES = 2,
};

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Reads the header of the object at @address, which must be of @type. */
static int read_header(struct remote_memory *memory, uint64_t address, uint32_t type,
		       uint8_t header[HEADER_BYTES])
{
	int err = remote_memory_read(memory, address, header, HEADER_BYTES);

	if (!err && (word_at(header, 0) & TYPE_MASK) != type)
		err = fail(-EBADMSG, "no object of type %u at %#" PRIx64, type, address);
	return err;
}

static void clean_text(const uint8_t *bytes, size_t size, ruby_text text, size_t *length)
{
	size_t written = 0;

	for (size_t i = 0, step; i < size; i += step) {
		char encoded[TEXT_UTF8_MAX_BYTES];
		size_t count =
			text_encode_utf8(text_decode_utf8(bytes + i, size - i, &step), encoded);

		if (written + count > FRAME_NAME_MAX_BYTES)
			break;
		memcpy(text + written, encoded, count);
		written += count;
	}
	text[written] = '\0';
	*length = written;
}

int ruby_string_read(struct remote_memory *memory, const struct ruby_layout *layout,
		     uint64_t address, ruby_text text, size_t *length)
{
	uint8_t header[HEADER_BYTES], bytes[FRAME_NAME_MAX_BYTES];
	uint64_t flags, size, from;
	int err = read_header(memory, address, TYPE_STRING, header);

	if (err)
		return err;
	flags = word_at(header, 0);
	size = word_at(header, layout->string_length);
	from = address + layout->string_embedded;
	if (flags & STRING_IS_SEPARATE)
		from = word_at(header, layout->string_pointer);
	else if (layout->string_length_in_flags)
		size = flags >> EMBEDDED_STRING_SHIFT & EMBEDDED_STRING_MASK;
	if (size > INT64_MAX)
		return fail(-EBADMSG, "a string of %" PRIu64 " bytes at %#" PRIx64, size, address);
	if (size > sizeof(bytes))
		size = sizeof(bytes);
	err = size ? remote_memory_read(memory, from, bytes, size) : 0;
	if (!err)
		clean_text(bytes, size, text, length);
	return err;
}

int ruby_array_get(struct remote_memory *memory, uint64_t address, uint64_t index, uint64_t *value)
{
	uint8_t header[HEADER_BYTES];
	uint64_t flags, length, from;
	int err = read_header(memory, address, TYPE_ARRAY, header);

	if (err)
		return err;
	flags = word_at(header, 0);
	length = word_at(header, ARRAY_LENGTH);
	from = word_at(header, ARRAY_POINTER);
	if (flags & ARRAY_IS_EMBEDDED) {
		length = flags >> EMBEDDED_ARRAY_SHIFT & EMBEDDED_ARRAY_MASK;
		from = address + ARRAY_EMBEDDED;
	}
	if (index >= length)
		return fail(-EBADMSG, "no element %" PRIu64 " in the array at %#" PRIx64, index,
			    address);
	return remote_memory_read(memory, from + index * sizeof(*value), value, sizeof(*value));
}

int ruby_path_read(struct remote_memory *memory, const struct ruby_layout *layout, uint64_t address,
		   ruby_text text, size_t *length)
{
	uint64_t path;
	int err = ruby_string_read(memory, layout, address, text, length);

	if (err != -EBADMSG)
		return err;
	err = ruby_array_get(memory, address, 0, &path);
	return err ? err : ruby_string_read(memory, layout, path, text, length);
}

int ruby_symbol_read(struct remote_memory *memory, const struct ruby_layout *layout,
		     uint64_t symbols, uint64_t id, ruby_text text, size_t *length)
{
	uint32_t number = (uint32_t)(id > layout->id_last_operator ? id >> layout->id_shift : id);
	uint64_t arrays, array, name;
	int err = remote_memory_read(memory, symbols + SYMBOLS_ARRAYS, &arrays, sizeof(arrays));

	if (!err)
		err = ruby_array_get(memory, arrays, number / SYMBOLS_IN_ARRAY, &array);
	if (!err)
		err = ruby_array_get(memory, array,
				     (uint64_t)(number % SYMBOLS_IN_ARRAY) * SYMBOL_VALUES, &name);
	return err ? err : ruby_string_read(memory, layout, name, text, length);
}
