/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/symbol_cache.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

static const uint8_t *part_bytes(const struct symbol_cache_header *header, const uint8_t *bytes,
				 uint32_t part)
{
	return bytes + header->parts[part].offset;
}

static int check_parts(const struct symbol_cache_header *header, size_t size)
{
	for (int i = 0; i < SYMBOL_CACHE_PART_COUNT; i++) {
		const struct symbol_cache_part *part = &header->parts[i];

		if (part->offset > size || part->bytes > size - part->offset)
			return fail(-EBADMSG, "part %d of a symbol cache lies outside of it", i);
	}
	return 0;
}

static int init_blocks(struct symbol_blocks *blocks, const struct symbol_cache_header *header,
		       const uint8_t *bytes)
{
	uint64_t block_bytes = header->parts[SYMBOL_CACHE_PART_BLOCKS].bytes;
	uint64_t index_bytes = header->parts[SYMBOL_CACHE_PART_INDEX].bytes;
	uint64_t count = block_bytes / SYMBOL_BLOCK_BYTES;

	if (block_bytes % SYMBOL_BLOCK_BYTES || count > UINT32_MAX ||
	    index_bytes != address_index_bytes(count))
		return fail(-EBADMSG, "an index of %zu bytes for blocks of %zu in a symbol cache",
			    (size_t)index_bytes, (size_t)block_bytes);
	blocks->base = le64toh(header->base);
	blocks->bytes = part_bytes(header, bytes, SYMBOL_CACHE_PART_BLOCKS);
	blocks->count = count;
	address_index_init(&blocks->index, part_bytes(header, bytes, SYMBOL_CACHE_PART_INDEX),
			   count);
	return 0;
}

static int read_header(struct symbol_cache_header *header, const void *bytes, size_t size)
{
	if (size < sizeof(*header))
		return fail(-EBADMSG, "a symbol cache without a header");
	memcpy(header, bytes, sizeof(*header));
	if (memcmp(header->magic, SYMBOL_CACHE_MAGIC, sizeof(header->magic)))
		return fail(-EBADMSG, "no symbol cache");
	if (le32toh(header->version) != SYMBOL_CACHE_VERSION)
		return fail(-EOPNOTSUPP, "a symbol cache of version %u", le32toh(header->version));
	for (int i = 0; i < SYMBOL_CACHE_PART_COUNT; i++) {
		header->parts[i].offset = le64toh(header->parts[i].offset);
		header->parts[i].bytes = le64toh(header->parts[i].bytes);
	}
	return check_parts(header, size);
}

int symbol_cache_init_unchecked(struct symbol_cache *file, const void *bytes, size_t size)
{
	struct symbol_cache_header header;
	struct symbol_cache result = { 0 };
	int err = read_header(&header, bytes, size);

	if (!err)
		err = init_blocks(&result.blocks, &header, bytes);
	if (err)
		return err;
	result.strings = (const char *)part_bytes(&header, bytes, SYMBOL_CACHE_PART_STRINGS);
	result.strings_bytes = header.parts[SYMBOL_CACHE_PART_STRINGS].bytes;
	result.scopes = part_bytes(&header, bytes, SYMBOL_CACHE_PART_SCOPES);
	result.scopes_bytes = header.parts[SYMBOL_CACHE_PART_SCOPES].bytes;
	/* So every string ends inside the part. */
	if (result.strings_bytes && result.strings[result.strings_bytes - 1])
		return fail(-EBADMSG, "the last name in a symbol cache does not end");
	*file = result;
	return 0;
}

int symbol_cache_init(struct symbol_cache *file, const void *bytes, size_t size)
{
	const size_t hashed = offsetof(struct symbol_cache_header, hash);
	struct symbol_cache_header header;
	int err = read_header(&header, bytes, size);

	if (err)
		return err;
	if (!hash128_equal(hash128_bytes(bytes, hashed), header.hash))
		return fail(-EBADMSG, "the header of a symbol cache is damaged");
	for (int i = 0; i < SYMBOL_CACHE_PART_COUNT; i++)
		if (!hash128_equal(hash128_bytes(part_bytes(&header, bytes, i),
						 header.parts[i].bytes),
				   header.parts[i].hash))
			return fail(-EBADMSG, "part %d of a symbol cache is damaged", i);
	return symbol_cache_init_unchecked(file, bytes, size);
}

/* NULL for 0, and for offsets outside. */
static const char *string_at(const struct symbol_cache *file, uint32_t offset)
{
	return offset && offset < file->strings_bytes ? file->strings + offset : NULL;
}

/* An iteration over a chain of scopes, innermost first. */
struct chain {
	const struct symbol_cache *file;
	struct symbol_block_row row;
	/* The next scope: an id in the block, or an offset in the file's scopes. */
	uint32_t id;
	uint32_t far;
};

static bool next_scope(struct chain *chain, struct symbol_scope *scope)
{
	uint32_t far = chain->far;

	if (!far) {
		if (!symbol_block_scope(&chain->row, chain->id, scope, &far))
			return false;
		chain->id = scope->outer;
	}
	if (!far)
		return true;
	if (!scope_bytes_read(chain->file->scopes, chain->file->scopes_bytes, far, scope))
		return false;
	/* The enclosing scopes are not in the block. */
	chain->id = 0;
	chain->far = scope->outer;
	return true;
}

uint32_t symbol_cache_lookup(const struct symbol_cache *file, uint64_t address,
			     struct symbol_frame *frames, uint32_t capacity)
{
	struct chain chain = { .file = file };
	struct symbol_scope scope = { 0 };
	struct symbol_frame frame;
	uint32_t count = 0;

	if (!capacity)
		return 0;
	if (!symbol_blocks_find(&file->blocks, address, &chain.row))
		return 0;
	frame = (struct symbol_frame){ .file = string_at(file, chain.row.file),
				       .line = chain.row.line };
	chain.id = chain.row.scope;
	for (uint32_t depth = 0; depth < SYMBOL_CACHE_MAX_DEPTH && next_scope(&chain, &scope);
	     depth++) {
		frame.function = string_at(file, scope.name);
		frame.is_inlined = scope.outer;
		frame.start_line = scope.start_line;
		frames[count < capacity ? count++ : count - 1] = frame;
		frame = (struct symbol_frame){ .file = string_at(file, scope.call_file),
					       .line = scope.call_line };
		if (!scope.outer)
			break;
	}
	if (!count && frame.file)
		frames[count++] = frame;
	return count;
}
