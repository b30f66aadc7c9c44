/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The data for look-ups: blocks of 512 bytes. Each block has everything about a part of the text:
 * from which address on which function and which inlined calls, file and line apply. The index for
 * finding a block stays in the CPU cache (symbols/cache/address_index.h), so a look-up waits for
 * memory once. The bytes are not trusted: with damaged ones a look-up may return wrong results, and
 * no more.
 *
 * A block starts with three bytes, the numbers of its rows (1 to 192), scopes and files, and a byte
 * of widths: 1 if addresses take 4 bytes and not 2, plus 2 times the bytes of a line (0 to 4), plus
 * 16 times those of the first line of a function and of the line of a call. Then follow
 *	for each row but the first: its address minus the block's
 *	for each row: its innermost scope, if there are scopes; 0 is none. Scopes and files have ids from 1 on
 *	for each row: its file, if there are files
 *	for each row: its line
 *	for each file: its name, in 4 bytes
 *	for each scope: its name, in 4 bytes; the enclosing scope, which has a lower id, or 0 for
 *		a function; file of the call; first line of the function; line of the call
 * A scope whose name has the bit 2^30 refers to a scope of symbols/cache/scope_bytes.h; the other
 * bits are its offset. For calls that are inlined more than SYMBOL_BLOCK_DEPTH deep, a block has
 * only the innermost. Numbers are little endian. The last four bytes of a block are unused, so that
 * reading four bytes is safe even if a number is shorter or has no bytes.
 */
#ifndef SYMBOLS_CACHE_SYMBOL_BLOCK_H
#define SYMBOLS_CACHE_SYMBOL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cache/address_index.h"
#include "symbols/cache/scope_bytes.h"

enum {
	SYMBOL_BLOCK_BYTES = 512,
	SYMBOL_BLOCK_USED_MAX = SYMBOL_BLOCK_BYTES - 4,
	SYMBOL_BLOCK_HEAD_BYTES = 4,
	SYMBOL_BLOCK_ROWS_MAX = 192,
	/** Name, outer scope and file, without the lines. */
	SYMBOL_BLOCK_SCOPE_BYTES = 6,
	/** A row with this many scopes and files of its own fits into a block. */
	SYMBOL_BLOCK_DEPTH = 16,
	SYMBOL_BLOCK_FAR = 1 << 30,
};

/** Blocks in borrowed memory. */
struct symbol_blocks {
	uint64_t base;
	struct address_index index;
	const uint8_t *bytes;
	uint32_t count;
};

/** The row for an address, and where the block has its other data. */
struct symbol_block_row {
	/** String ids. */
	uint32_t file;
	uint32_t line;
	/** The innermost scope, by its id in the block. */
	uint32_t scope;
	uint32_t scope_count;
	uint32_t file_count;
	/** Bytes of each of a scope's two lines. */
	uint32_t scope_line_bytes;
	const uint8_t *files;
	const uint8_t *scopes;
};

/** False if nothing is known about @address, or the block is damaged. */
bool symbol_blocks_find(const struct symbol_blocks *blocks, uint64_t address,
			struct symbol_block_row *row);

/**
 * Reads scope @id of the block of @row. @scope's outer scope is an id in the block too,
 * lower than @id. If *@far is not 0, the scope is the one at that offset of
 * symbols/cache/scope_bytes.h. False if there is none.
 */
bool symbol_block_scope(const struct symbol_block_row *row, uint32_t id, struct symbol_scope *scope,
			uint32_t *far);

#endif
