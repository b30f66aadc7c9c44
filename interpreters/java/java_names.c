/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_names.h"

#include <errno.h>
#include <string.h>

#include "interpreters/java/java_fields.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

/* Parts of a Method that come from its class file. */
struct method_parts {
	uint64_t constants;
	uint64_t constant_count;
	uint64_t name;
	uint64_t signature;
};

struct text_writer {
	char *text;
	size_t length;
};

static bool is_next(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* The code unit of UTF-16 at @bytes, and its length; TEXT_REPLACEMENT for an invalid one. @left > 0. */
static uint32_t decode_unit(const uint8_t *bytes, size_t left, size_t *length)
{
	*length = 1;
	if (bytes[0] && bytes[0] < 0x80)
		return bytes[0];
	if ((bytes[0] & 0xe0) == 0xc0 && left >= 2 && is_next(bytes[1])) {
		*length = 2;
		return (bytes[0] & 31U) << 6 | (bytes[1] & 63);
	}
	if ((bytes[0] & 0xf0) == 0xe0 && left >= 3 && is_next(bytes[1]) && is_next(bytes[2])) {
		*length = 3;
		return (bytes[0] & 15U) << 12 | (bytes[1] & 63U) << 6 | (bytes[2] & 63);
	}
	return TEXT_REPLACEMENT;
}

/* The same for a character; beyond U+FFFF it has two units. */
static uint32_t decode_character(const uint8_t *bytes, size_t left, size_t *length)
{
	uint32_t first = decode_unit(bytes, left, length), second;
	size_t second_length;

	if (first < 0xd800 || first > 0xdbff || *length == left)
		return first;
	second = decode_unit(bytes + *length, left - *length, &second_length);
	if (second < 0xdc00 || second > 0xdfff)
		return first;
	*length += second_length;
	return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

size_t java_decode_text(const uint8_t *bytes, size_t size, char *to, size_t capacity)
{
	size_t written = 0, length;

	for (size_t i = 0; i < size; i += length) {
		uint32_t character = decode_character(bytes + i, size - i, &length);
		char encoded[TEXT_UTF8_MAX_BYTES];
		size_t bytes_count = text_encode_utf8(character, encoded);

		if (bytes_count > capacity - written)
			break;
		memcpy(to + written, encoded, bytes_count);
		written += bytes_count;
	}
	return written;
}

static void put(struct text_writer *writer, const uint8_t *bytes, size_t size)
{
	writer->length += java_decode_text(bytes, size, writer->text + writer->length,
					   FRAME_NAME_MAX_BYTES - writer->length);
}

static int read_symbol(const struct java_layout *layout, struct remote_memory *memory,
		       uint64_t symbol, uint8_t bytes[FRAME_NAME_MAX_BYTES], size_t *size)
{
	uint64_t length;
	int err = java_field_read(memory, symbol, layout->symbol_length, &length);

	if (err)
		return err;
	if (length > FRAME_NAME_MAX_BYTES)
		length = FRAME_NAME_MAX_BYTES;
	*size = length;
	return remote_memory_read(memory, symbol + layout->symbol_body.offset, bytes, length);
}

/* Cuts the end of a hidden class's name: "+0x" and 16 digits, or fewer if the class is from an archive. */
static size_t cut_hidden_suffix(const uint8_t *bytes, size_t size)
{
	size_t start = size;

	while (start && text_hex_value((char)bytes[start - 1]) >= 0)
		start--;
	return start < size && start > 3 && !memcmp(bytes + start - 3, "+0x", 3) ? start - 3 : size;
}

/* Appends the name of the class that has the constants, with dots. */
static int put_class(const struct java_layout *layout, struct remote_memory *memory,
		     const struct method_parts *parts, struct text_writer *writer)
{
	uint8_t bytes[FRAME_NAME_MAX_BYTES];
	uint64_t holder, symbol;
	size_t size;
	int err = java_field_read(memory, parts->constants, layout->constant_pool_holder, &holder);

	if (!err)
		err = java_field_read(memory, holder, layout->klass_name, &symbol);
	if (!err)
		err = read_symbol(layout, memory, symbol, bytes, &size);
	if (err)
		return err;
	size = cut_hidden_suffix(bytes, size);
	for (size_t i = 0; i < size; i++)
		if (bytes[i] == '/')
			bytes[i] = '.';
	put(writer, bytes, size);
	return 0;
}

/* Appends the text of a constant. */
static int put_constant(const struct java_layout *layout, struct remote_memory *memory,
			const struct method_parts *parts, uint64_t index,
			struct text_writer *writer)
{
	uint64_t entries = parts->constants + layout->constant_pool_bytes, symbol;
	uint8_t bytes[FRAME_NAME_MAX_BYTES];
	size_t size;
	int err;

	if (!index || index >= parts->constant_count)
		return fail(-EBADMSG, "constant %llu of %llu", (unsigned long long)index,
			    (unsigned long long)parts->constant_count);
	err = remote_memory_read(memory, entries + index * JAVA_POINTER_BYTES, &symbol,
				 sizeof(symbol));
	if (!err)
		err = read_symbol(layout, memory, symbol, bytes, &size);
	if (!err)
		put(writer, bytes, size);
	return err;
}

static int read_parts(const struct java_layout *layout, struct remote_memory *memory,
		      uint64_t method, struct method_parts *parts)
{
	uint64_t const_method;
	int err = java_field_read(memory, method, layout->method_const_method, &const_method);

	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_constants,
				      &parts->constants);
	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_name,
				      &parts->name);
	if (!err)
		err = java_field_read(memory, const_method, layout->const_method_signature,
				      &parts->signature);
	if (!err)
		err = java_field_read(memory, parts->constants, layout->constant_pool_length,
				      &parts->constant_count);
	return err;
}

int java_method_name(const struct java_layout *layout, struct remote_memory *memory,
		     uint64_t method, bool has_signature, java_text text)
{
	struct text_writer writer = { .text = text };
	struct method_parts parts;
	int err = read_parts(layout, memory, method, &parts);

	if (!err)
		err = put_class(layout, memory, &parts, &writer);
	if (err)
		return err;
	put(&writer, (const uint8_t *)".", 1);
	err = put_constant(layout, memory, &parts, parts.name, &writer);
	if (!err && has_signature)
		err = put_constant(layout, memory, &parts, parts.signature, &writer);
	if (!err)
		text[writer.length] = '\0';
	return err;
}

int java_constant_text(const struct java_layout *layout, struct remote_memory *memory,
		       uint64_t constants, uint64_t index, java_text text)
{
	struct text_writer writer = { .text = text };
	struct method_parts parts = { .constants = constants };
	int err = java_field_read(memory, constants, layout->constant_pool_length,
				  &parts.constant_count);

	if (!err)
		err = put_constant(layout, memory, &parts, index, &writer);
	if (!err)
		text[writer.length] = '\0';
	return err;
}
