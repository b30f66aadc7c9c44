/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/range_file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "agent/base/error.h"
#include "agent/base/text.h"

enum {
	/* Four numbers of 32 bits. */
	SCOPE_MAX_BYTES = 4 * 5,
};

struct scope {
	uint32_t outer;
	bool is_plain;
	uint32_t name;
	uint32_t call_file;
	uint32_t call_line;
};

static const uint8_t *part_bytes(const struct range_file_header *header, const uint8_t *bytes,
				 uint32_t part)
{
	return bytes + header->parts[part].offset;
}

static int check_parts(const struct range_file_header *header, size_t size)
{
	for (int i = 0; i < RANGE_PART_COUNT; i++) {
		const struct range_file_part *part = &header->parts[i];

		if (part->offset > size || part->bytes > size - part->offset)
			return fail(-EBADMSG, "part %d of a range file lies outside of it", i);
	}
	return 0;
}

static int init_tables(struct range_file *file, const struct range_file_header *header,
		       const uint8_t *bytes)
{
	for (int i = 0; i < RANGE_TABLE_COUNT; i++) {
		uint32_t part = RANGE_PART_TABLES + 2 * i;
		uint64_t index_bytes = header->parts[part].bytes;
		uint64_t count = index_bytes / (2 * sizeof(uint32_t));
		const uint8_t *index = part_bytes(header, bytes, part);

		if (index_bytes % (2 * sizeof(uint32_t)) || count > UINT32_MAX)
			return fail(-EBADMSG, "an index of %zu bytes in a range file",
				    (size_t)index_bytes);
		file->tables[i] = (struct address_table){
			.base = le64toh(header->bases[i]),
			.block_count = count,
			.addresses = index,
			.offsets = index + count * sizeof(uint32_t),
			.rows = part_bytes(header, bytes, part + 1),
			.rows_bytes = header->parts[part + 1].bytes,
		};
	}
	return 0;
}

static int read_header(struct range_file_header *header, const void *bytes, size_t size)
{
	if (size < sizeof(*header))
		return fail(-EBADMSG, "a range file without a header");
	memcpy(header, bytes, sizeof(*header));
	if (memcmp(header->magic, RANGE_FILE_MAGIC, sizeof(header->magic)))
		return fail(-EBADMSG, "no range file");
	if (le32toh(header->version) != RANGE_FILE_VERSION)
		return fail(-EOPNOTSUPP, "a range file of version %u", le32toh(header->version));
	for (int i = 0; i < RANGE_PART_COUNT; i++) {
		header->parts[i].offset = le64toh(header->parts[i].offset);
		header->parts[i].bytes = le64toh(header->parts[i].bytes);
	}
	return check_parts(header, size);
}

int range_file_init_unchecked(struct range_file *file, const void *bytes, size_t size)
{
	struct range_file_header header;
	struct range_file result = { 0 };
	int err = read_header(&header, bytes, size);

	if (!err)
		err = init_tables(&result, &header, bytes);
	if (err)
		return err;
	result.strings = (const char *)part_bytes(&header, bytes, RANGE_PART_STRINGS);
	result.strings_bytes = header.parts[RANGE_PART_STRINGS].bytes;
	result.scopes = part_bytes(&header, bytes, RANGE_PART_SCOPES);
	result.scopes_bytes = header.parts[RANGE_PART_SCOPES].bytes;
	/* So that every string in it ends. */
	if (result.strings_bytes && result.strings[result.strings_bytes - 1])
		return fail(-EBADMSG, "the last name in a range file does not end");
	*file = result;
	return 0;
}

int range_file_init(struct range_file *file, const void *bytes, size_t size)
{
	const size_t hashed = offsetof(struct range_file_header, hash);
	struct range_file_header header;
	int err = read_header(&header, bytes, size);

	if (err)
		return err;
	if (!hash128_equal(hash128_bytes(bytes, hashed), header.hash))
		return fail(-EBADMSG, "the header of a range file is damaged");
	for (int i = 0; i < RANGE_PART_COUNT; i++)
		if (!hash128_equal(hash128_bytes(part_bytes(&header, bytes, i),
						 header.parts[i].bytes),
				   header.parts[i].hash))
			return fail(-EBADMSG, "part %d of a range file is damaged", i);
	return range_file_init_unchecked(file, bytes, size);
}

/* NULL for 0, and what lies outside. */
static const char *string_at(const struct range_file *file, uint32_t offset)
{
	return offset && offset < file->strings_bytes ? file->strings + offset : NULL;
}

/* As byte_reader_uleb128() where it is known that a number of 32 bits ends before the bytes do. */
static inline uint32_t read_uleb128(const uint8_t **position)
{
	uint32_t value = 0;

	for (uint32_t shift = 0; shift < 32; shift += 7) {
		uint8_t byte = *(*position)++;

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

/* False at what is no scope. Scopes around one another lie before it: chains end. */
static bool read_scope(const struct range_file *file, uint32_t at, struct scope *scope)
{
	uint8_t last[SCOPE_MAX_BYTES] = { 0 };
	const uint8_t *position;
	uint32_t head;

	if (!at || at >= file->scopes_bytes)
		return false;
	position = file->scopes + at;
	if (file->scopes_bytes - at < SCOPE_MAX_BYTES) {
		memcpy(last, position, file->scopes_bytes - at);
		position = last;
	}
	head = read_uleb128(&position);
	*scope = (struct scope){ .is_plain = head & 1, .name = read_uleb128(&position) };
	if (head >> 1 >= at)
		return false;
	if (head >> 1) {
		scope->outer = at - (head >> 1);
		scope->call_file = read_uleb128(&position);
		scope->call_line = read_uleb128(&position);
	}
	return true;
}

/* Whether symbol "main.cold" is of function "main": compilers name what they part so. */
static bool is_part_of(const char *symbol, const char *function)
{
	return function && text_starts_with(symbol, function) && symbol[strlen(function)] == '.';
}

uint32_t range_file_lookup(const struct range_file *file, uint64_t address,
			   struct range_frame *frames, uint32_t capacity)
{
	struct address_value scope_value, line, symbol;
	struct range_frame frame;
	uint32_t count = 0, at, depth;
	struct scope scope = { 0 };
	const char *name;

	if (!capacity)
		return 0;
	scope_value = address_table_lookup(&file->tables[RANGE_SCOPES], address);
	line = address_table_lookup(&file->tables[RANGE_LINES], address);
	frame = (struct range_frame){ .file = string_at(file, line.first), .line = line.second };
	at = scope_value.first;
	for (depth = 0; depth < RANGE_FILE_MAX_DEPTH && read_scope(file, at, &scope); depth++) {
		frame.function = string_at(file, scope.name);
		frame.is_inlined = scope.outer;
		frames[count < capacity ? count++ : count - 1] = frame;
		frame = (struct range_frame){ .file = string_at(file, scope.call_file),
					      .line = scope.call_line };
		at = scope.outer;
		if (!at)
			break;
	}
	if (count && !(scope.is_plain && !frames[count - 1].is_inlined))
		return count;
	/* A linkage name, where the function has none of its own. */
	symbol = address_table_lookup(&file->tables[RANGE_SYMBOLS], address);
	name = string_at(file, symbol.first);
	if (!count && (symbol.first || frame.file))
		frames[count++] = frame;
	if (count && name && !is_part_of(name, frames[count - 1].function))
		frames[count - 1].function = name;
	return count;
}
