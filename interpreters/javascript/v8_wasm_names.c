/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_wasm_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/base/vector.h"

#define SECTION_NAME "name"

enum {
	HEADER_BYTES = 8,
	CUSTOM_SECTION = 0,
	FUNCTION_NAMES = 1,
	/** Size of a number of 32 bits. */
	NUMBER_MAX_BYTES = 5,
	CHUNK_BYTES = 4096,
};

VECTOR_DEFINE(offset_vector, uint32_t)

/* Reads a part of the module in chunks. */
struct wasm_reader {
	/** Borrowed. */
	struct remote_memory *memory;
	uint64_t module;
	/** Offsets in the module: of the next byte, and of the end of the part. */
	uint32_t at;
	uint32_t end;
	/** Range of the module that is in the chunk. */
	uint32_t chunk_start;
	uint32_t chunk_end;
	uint8_t chunk[CHUNK_BYTES];
};

static int read_byte(struct wasm_reader *reader, uint8_t *byte)
{
	int err;

	if (reader->at >= reader->end)
		return fail(-EBADMSG, "a module of WebAssembly ends early");
	if (reader->at < reader->chunk_start || reader->at >= reader->chunk_end) {
		const uint32_t left = reader->end - reader->at;
		const uint32_t bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES;

		reader->chunk_end = 0;
		err = remote_memory_read(reader->memory, reader->module + reader->at, reader->chunk,
					 bytes);
		if (err)
			return err;
		reader->chunk_start = reader->at;
		reader->chunk_end = reader->at + bytes;
	}
	*byte = reader->chunk[reader->at++ - reader->chunk_start];
	return 0;
}

/* Reads a number of 32 bits: LEB128, without a sign. */
static int read_number(struct wasm_reader *reader, uint32_t *number)
{
	uint32_t found = 0;
	uint8_t byte = 0;

	for (uint32_t i = 0; i < NUMBER_MAX_BYTES; i++) {
		int err = read_byte(reader, &byte);

		if (err)
			return err;
		found |= (uint32_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			*number = found;
			return 0;
		}
	}
	return fail(-EBADMSG, "a number of WebAssembly has too many bytes");
}

/* Reads the size of the next part, and gives the offset of its end. */
static int read_end(struct wasm_reader *reader, uint32_t *end)
{
	uint32_t size = 0;
	int err = read_number(reader, &size);

	if (!err && size > reader->end - reader->at)
		err = fail(-EBADMSG, "a part of WebAssembly of %u bytes", size);
	if (!err)
		*end = reader->at + size;
	return err;
}

/* Reads the name of a custom section; *@is_names: it is that of the section with names. */
static int read_section_name(struct wasm_reader *reader, bool *is_names)
{
	uint32_t end = 0;
	int err = read_end(reader, &end);

	*is_names = end - reader->at == strlen(SECTION_NAME);
	for (const char *next = SECTION_NAME; !err && *is_names && *next; next++) {
		uint8_t byte = 0;

		err = read_byte(reader, &byte);
		*is_names = byte == (uint8_t)*next;
	}
	if (!err)
		reader->at = end;
	return err;
}

/* Goes to the contents of the section with names, which are the rest of the part then. */
static int find_section(struct wasm_reader *reader)
{
	bool is_names = false;
	uint8_t id = 0;

	for (uint32_t i = 0; i < V8_WASM_MAX_SECTIONS && reader->at < reader->end; i++) {
		const uint32_t module_end = reader->end;
		uint32_t end = 0;
		int err = read_byte(reader, &id);

		if (!err)
			err = read_end(reader, &end);
		if (!err && id == CUSTOM_SECTION) {
			reader->end = end;
			err = read_section_name(reader, &is_names);
		}
		if (err || is_names)
			return err;
		reader->end = module_end;
		reader->at = end;
	}
	return fail(-ENOENT, "a module of WebAssembly without names");
}

/* Goes to the names of functions in that section. */
static int find_function_names(struct wasm_reader *reader)
{
	while (reader->at < reader->end) {
		uint32_t end = 0;
		uint8_t id = 0;
		int err = read_byte(reader, &id);

		if (!err)
			err = read_end(reader, &end);
		if (!err && id == FUNCTION_NAMES)
			reader->end = end;
		if (err || id == FUNCTION_NAMES)
			return err;
		reader->at = end;
	}
	return fail(-ENOENT, "a module of WebAssembly without names of functions");
}

/* Sets the offset of function @index, which is above all before it. */
static int put_offset(struct offset_vector *offsets, uint32_t index, uint32_t offset)
{
	int err = 0;

	if (index >= V8_WASM_MAX_FUNCTIONS || index < offsets->count)
		return fail(-EBADMSG, "a name of function %u behind %zu others", index,
			    offsets->count);
	while (!err && offsets->count < index)
		err = offset_vector_push(offsets, 0);
	return err ? err : offset_vector_push(offsets, offset);
}

static int read_offsets(struct wasm_reader *reader, struct offset_vector *offsets)
{
	uint32_t count = 0;
	int err = read_number(reader, &count);

	for (uint32_t i = 0; !err && i < count && i < V8_WASM_MAX_FUNCTIONS; i++) {
		uint32_t index = 0, end = 0, offset;

		err = read_number(reader, &index);
		offset = reader->at;
		if (!err)
			err = read_end(reader, &end);
		if (!err)
			err = put_offset(offsets, index, offset);
		if (!err)
			reader->at = end;
	}
	/* The names before are right. */
	return err == -EBADMSG && offsets->count ? 0 : err;
}

int v8_wasm_names_read(struct remote_memory *memory, uint64_t module, uint64_t bytes,
		       struct v8_wasm_names *names)
{
	/* Magic number and version. */
	static const uint8_t header[HEADER_BYTES] = { 0, 'a', 's', 'm', 1 };
	struct wasm_reader reader = { .memory = memory, .module = module, .at = HEADER_BYTES };
	struct offset_vector offsets = { 0 };
	uint8_t found[HEADER_BYTES];
	int err;

	if (bytes > V8_WASM_MAX_MODULE_BYTES)
		return fail(-E2BIG, "a module of WebAssembly of %llu bytes",
			    (unsigned long long)bytes);
	if (bytes < HEADER_BYTES)
		return fail(-EBADMSG, "no module of WebAssembly");
	reader.end = (uint32_t)bytes;
	err = remote_memory_read(memory, module, found, sizeof(found));
	if (!err && memcmp(found, header, sizeof(header)))
		err = fail(-EBADMSG, "no module of WebAssembly");
	if (!err)
		err = find_section(&reader);
	if (!err)
		err = find_function_names(&reader);
	if (!err && reader.end - reader.at > V8_WASM_MAX_NAMES_BYTES)
		err = fail(-E2BIG, "%u bytes of names of WebAssembly", reader.end - reader.at);
	if (!err)
		err = read_offsets(&reader, &offsets);
	if (!err && !offsets.count)
		err = fail(-ENOENT, "a module of WebAssembly without names of functions");
	if (err) {
		offset_vector_deinit(&offsets);
		return err;
	}
	*names = (struct v8_wasm_names){
		.module = module,
		.offsets = vector_shrink(offsets.items, offsets.count * sizeof(*offsets.items)),
		.count = (uint32_t)offsets.count,
	};
	return 0;
}

void v8_wasm_names_deinit(struct v8_wasm_names *names)
{
	free(names->offsets);
	*names = (struct v8_wasm_names){ 0 };
}

/* Writes @from as UTF-8 with its NUL, cut to fit; what is no UTF-8 becomes U+FFFD. */
static void copy_name(const uint8_t *from, size_t bytes, char *name, size_t capacity)
{
	size_t used = 0, length = 0;

	for (size_t at = 0; at < bytes; at += length) {
		char encoded[TEXT_UTF8_MAX_BYTES];
		const size_t count =
			text_encode_utf8(text_decode_utf8(from + at, bytes - at, &length), encoded);

		if (used + count >= capacity)
			break;
		memcpy(name + used, encoded, count);
		used += count;
	}
	name[used] = '\0';
}

int v8_wasm_names_find(struct remote_memory *memory, const struct v8_wasm_names *names,
		       uint32_t index, char *name, size_t capacity)
{
	struct wasm_reader reader = { .memory = memory, .module = names->module };
	uint32_t size = 0;
	int err;

	if (index >= names->count || !names->offsets[index])
		return fail(-ENOENT, "function %u of WebAssembly has no name", index);
	reader.at = names->offsets[index];
	reader.end = reader.at + NUMBER_MAX_BYTES;
	err = read_number(&reader, &size);
	if (!err && !size)
		err = fail(-ENOENT, "function %u of WebAssembly has an empty name", index);
	if (err)
		return err;
	/* The bytes may be others by now, so the size is no more than a wish. */
	if (size > sizeof(reader.chunk))
		size = sizeof(reader.chunk);
	err = remote_memory_read(memory, names->module + reader.at, reader.chunk, size);
	if (!err)
		copy_name(reader.chunk, size, name, capacity);
	return err;
}
