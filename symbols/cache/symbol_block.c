/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/symbol_block.h"

#include <endian.h>
#include <string.h>

enum {
	NUMBER_BYTES = 4,
	/* Groups are read completely; the block is long enough even for the most rows. */
	GROUP_ROWS = 64,
	CACHE_LINE_BYTES = 64,
};

_Static_assert(SYMBOL_BLOCK_ROWS_MAX % GROUP_ROWS == 0 &&
		       SYMBOL_BLOCK_HEAD_BYTES + 2 * SYMBOL_BLOCK_ROWS_MAX <= SYMBOL_BLOCK_BYTES,
	       "groups lie in the block");

static inline uint32_t read_number(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return le32toh(number);
}

/* Reads a number of 0 to 4 bytes without a branch on the width. */
static inline uint32_t read_short(const uint8_t *bytes, uint32_t width)
{
	return read_number(bytes) & (uint32_t)((1ULL << 8 * width) - 1);
}

/*
 * How many of @count addresses of two bytes are at or below @offset. All addresses of a group are
 * compared, padding included: a mispredicted branch would cost more, and the compiler vectorizes 8
 * of them at a time.
 */
static inline uint32_t short_rows_up_to(const uint8_t *addresses, uint32_t count, uint32_t offset)
{
	uint16_t highest = offset < UINT16_MAX ? offset : UINT16_MAX, group[GROUP_ROWS], below = 0;

	for (uint32_t first = 0; first < count; first += GROUP_ROWS) {
		uint16_t left = count - first;

		memcpy(group, addresses + first * sizeof(group[0]), sizeof(group));
		for (int i = 0; i < GROUP_ROWS; i++)
			below += (le16toh(group[i]) <= highest) & ((uint16_t)i < left);
	}
	return below;
}

static inline uint32_t long_rows_up_to(const uint8_t *addresses, uint32_t count, uint32_t offset)
{
	uint32_t below = 0;

	while (below < count && read_number(addresses + below * NUMBER_BYTES) <= offset)
		below++;
	return below;
}

static inline uint32_t file_at(const struct symbol_block_row *row, uint32_t id)
{
	if (!id || id > row->file_count)
		return 0;
	return read_number(row->files + (size_t)(id - 1) * NUMBER_BYTES);
}

static bool find_in_block(const uint8_t *block, uint32_t offset, struct symbol_block_row *row)
{
	uint32_t row_count = block[0], scope_count = block[1], file_count = block[2];
	uint32_t address_bytes = block[3] & 1 ? 4 : 2, line_bytes = block[3] >> 1 & 7;
	uint32_t scope_line_bytes = block[3] >> 4 & 7, used, i;
	const uint8_t *addresses = block + SYMBOL_BLOCK_HEAD_BYTES, *rows;

	used = SYMBOL_BLOCK_HEAD_BYTES + (row_count - 1) * address_bytes +
	       row_count * (!!scope_count + !!file_count + line_bytes) + file_count * NUMBER_BYTES +
	       scope_count * (SYMBOL_BLOCK_SCOPE_BYTES + 2 * scope_line_bytes);
	if (!row_count || row_count > SYMBOL_BLOCK_ROWS_MAX || line_bytes > NUMBER_BYTES ||
	    scope_line_bytes > NUMBER_BYTES || used > SYMBOL_BLOCK_USED_MAX)
		return false;
	i = address_bytes == NUMBER_BYTES ? long_rows_up_to(addresses, row_count - 1, offset) :
					    short_rows_up_to(addresses, row_count - 1, offset);
	rows = addresses + (row_count - 1) * address_bytes;
	*row = (struct symbol_block_row){
		.scope = scope_count ? rows[i] : 0,
		.scope_count = scope_count,
		.file_count = file_count,
		.scope_line_bytes = scope_line_bytes,
	};
	rows += scope_count ? row_count : 0;
	row->file = file_count ? rows[i] : 0;
	rows += file_count ? row_count : 0;
	row->line = read_short(rows + i * line_bytes, line_bytes);
	row->files = rows + row_count * line_bytes;
	row->scopes = row->files + file_count * NUMBER_BYTES;
	row->file = file_at(row, row->file);
	return true;
}

bool symbol_blocks_find(const struct symbol_blocks *blocks, uint64_t address,
			struct symbol_block_row *row)
{
	uint64_t offset = address - blocks->base;
	const uint8_t *block;
	uint32_t number;

	if (!blocks->count || address < blocks->base || offset > UINT32_MAX)
		return false;
	number = address_index_find(&blocks->index, offset);
	block = blocks->bytes + (size_t)number * SYMBOL_BLOCK_BYTES;
	/*
	 * The other lines are needed only once the first line has been read, so fetch all of them
	 * now.
	 */
	for (int i = 0; i < SYMBOL_BLOCK_BYTES; i += CACHE_LINE_BYTES)
		__builtin_prefetch(block + i);
	return find_in_block(block, offset - address_index_at(&blocks->index, number), row);
}

bool symbol_block_scope(const struct symbol_block_row *row, uint32_t id, struct symbol_scope *scope,
			uint32_t *far)
{
	uint32_t bytes = SYMBOL_BLOCK_SCOPE_BYTES + 2 * row->scope_line_bytes, name;
	const uint8_t *at;

	if (!id || id > row->scope_count)
		return false;
	at = row->scopes + (id - 1) * bytes;
	name = read_number(at);
	*far = name & SYMBOL_BLOCK_FAR ? name & (SYMBOL_BLOCK_FAR - 1) : 0;
	*scope = (struct symbol_scope){
		.name = name & (SYMBOL_BLOCK_FAR - 1),
		.outer = at[4],
		.call_file = file_at(row, at[5]),
		.start_line = read_short(at + SYMBOL_BLOCK_SCOPE_BYTES, row->scope_line_bytes),
		.call_line = read_short(at + SYMBOL_BLOCK_SCOPE_BYTES + row->scope_line_bytes,
					row->scope_line_bytes),
	};
	return scope->outer < id;
}
