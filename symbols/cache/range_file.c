/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/range_file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

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

static int init_blocks(struct range_blocks *blocks, const struct range_file_header *header,
		       const uint8_t *bytes)
{
	uint64_t block_bytes = header->parts[RANGE_PART_BLOCKS].bytes;
	uint64_t index_bytes = header->parts[RANGE_PART_INDEX].bytes;
	uint64_t count = block_bytes / RANGE_BLOCK_BYTES;

	if (block_bytes % RANGE_BLOCK_BYTES || count > UINT32_MAX ||
	    index_bytes != address_index_bytes(count))
		return fail(-EBADMSG, "an index of %zu bytes for blocks of %zu in a range file",
			    (size_t)index_bytes, (size_t)block_bytes);
	blocks->base = le64toh(header->base);
	blocks->bytes = part_bytes(header, bytes, RANGE_PART_BLOCKS);
	blocks->count = count;
	address_index_init(&blocks->index, part_bytes(header, bytes, RANGE_PART_INDEX), count);
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
		err = init_blocks(&result.blocks, &header, bytes);
	if (err)
		return err;
	result.strings = (const char *)part_bytes(&header, bytes, RANGE_PART_STRINGS);
	result.strings_bytes = header.parts[RANGE_PART_STRINGS].bytes;
	result.scopes = part_bytes(&header, bytes, RANGE_PART_SCOPES);
	result.scopes_bytes = header.parts[RANGE_PART_SCOPES].bytes;
	/* So every string ends inside the part. */
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

/* NULL for 0, and for offsets outside. */
static const char *string_at(const struct range_file *file, uint32_t offset)
{
	return offset && offset < file->strings_bytes ? file->strings + offset : NULL;
}

/* An iteration over a chain of scopes, innermost first. */
struct chain {
	const struct range_file *file;
	struct range_block_row row;
	/* The next scope: a number in the block, or an offset in the file's scopes. */
	uint32_t number;
	uint32_t far;
};

static bool next_scope(struct chain *chain, struct range_scope *scope)
{
	uint32_t far = chain->far;

	if (!far) {
		if (!range_block_scope(&chain->row, chain->number, scope, &far))
			return false;
		chain->number = scope->outer;
	}
	if (!far)
		return true;
	if (!scope_bytes_read(chain->file->scopes, chain->file->scopes_bytes, far, scope))
		return false;
	/* The enclosing scopes are not in the block. */
	chain->number = 0;
	chain->far = scope->outer;
	return true;
}

uint32_t range_file_lookup(const struct range_file *file, uint64_t address,
			   struct range_frame *frames, uint32_t capacity)
{
	struct chain chain = { .file = file };
	struct range_scope scope = { 0 };
	struct range_frame frame;
	uint32_t count = 0;

	if (!capacity)
		return 0;
	if (!range_blocks_find(&file->blocks, address, &chain.row))
		return 0;
	frame = (struct range_frame){ .file = string_at(file, chain.row.file),
				      .line = chain.row.line };
	chain.number = chain.row.scope;
	for (uint32_t depth = 0; depth < RANGE_FILE_MAX_DEPTH && next_scope(&chain, &scope);
	     depth++) {
		frame.function = string_at(file, scope.name);
		frame.is_inlined = scope.outer;
		frames[count < capacity ? count++ : count - 1] = frame;
		frame = (struct range_frame){ .file = string_at(file, scope.call_file),
					      .line = scope.call_line };
		if (!scope.outer)
			break;
	}
	if (!count && frame.file)
		frames[count++] = frame;
	return count;
}
