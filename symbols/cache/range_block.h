/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is known of code, as it is looked up: blocks of 512 bytes, each of which has all of a part of the text: from
 * which address on which function and which calls inlined into it are, of which file and line. Since a
 * block is searched for in an index that stays in the cache (symbols/cache/address_index.h), a look-up waits for memory once.
 * The bytes are believed in nothing: what is looked up in damaged ones may be wrong, and no more.
 *
 * A block is three bytes with how many rows (1 to 192), scopes and files it has; a byte of widths: 1 if addresses take 4 bytes and
 * not 2, plus 2 times the bytes of a line (0 to 4), plus 16 times those of the line of a call; then
 *	of each row but the first its address, less the block's
 *	of each row its innermost scope, if there are scopes; 0 is none, else they count from 1
 *	of each row its file, if there are files, as above
 *	of each row its line
 *	of each file its name, of 4 bytes
 *	of each scope its name, of 4 bytes; the scope around it, which stands before it, and is 0 for a function by
 *		itself; file and line of the call
 * A scope whose name has 2^30 stands for the one of symbols/cache/scope_bytes.h at the rest of it: of calls that are inlined
 * more than RANGE_BLOCK_DEPTH deep, a block has the innermost. Numbers are little endian; the last four bytes of a
 * block are not used, so that four bytes can be read where a number is shorter, or has none.
 */
#ifndef SYMBOLS_CACHE_RANGE_BLOCK_H
#define SYMBOLS_CACHE_RANGE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cache/address_index.h"
#include "symbols/cache/scope_bytes.h"

enum {
	RANGE_BLOCK_BYTES = 512,
	RANGE_BLOCK_USED_MAX = RANGE_BLOCK_BYTES - 4,
	RANGE_BLOCK_HEAD_BYTES = 4,
	RANGE_BLOCK_ROWS_MAX = 192,
	/** Name, outer one and file, without the line. */
	RANGE_BLOCK_SCOPE_BYTES = 6,
	/** A row with that many scopes and files of its own fits into a block. */
	RANGE_BLOCK_DEPTH = 16,
	RANGE_BLOCK_FAR = 1 << 30,
};

/** Where the blocks lie in memory: borrowed. */
struct range_blocks {
	uint64_t base;
	struct address_index index;
	const uint8_t *bytes;
	uint32_t count;
};

/** What holds at an address, and where the block has the rest. */
struct range_block_row {
	/** Strings by their numbers. */
	uint32_t file;
	uint32_t line;
	/** The innermost, by its number in the block. */
	uint32_t scope;
	uint32_t scope_count;
	uint32_t file_count;
	uint32_t call_line_bytes;
	const uint8_t *files;
	const uint8_t *scopes;
};

/** False if nothing is known of @address, or the block is damaged. */
bool range_blocks_find(const struct range_blocks *blocks, uint64_t address,
		       struct range_block_row *row);

/**
 * Scope @number of the block of @row; @scope's outer one is a number in the block, too, lower than @number. Where
 * *@far is not 0, the scope is that one of symbols/cache/scope_bytes.h. False if there is none.
 */
bool range_block_scope(const struct range_block_row *row, uint32_t number,
		       struct range_scope *scope, uint32_t *far);

#endif
