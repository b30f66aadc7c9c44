/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes the blocks of a symbol cache (symbols/cache/symbol_block.h) from rows in the order of their
 * addresses.
 */
#ifndef SYMBOLS_CACHE_SYMBOL_BLOCK_WRITER_H
#define SYMBOLS_CACHE_SYMBOL_BLOCK_WRITER_H

#include "lib/base/hash_map.h"
#include "symbols/cache/address_runs.h"
#include "symbols/cache/symbol_block.h"

enum {
	/* More than fit into a block, including those of the row that no longer fits. */
	SYMBOL_BLOCK_NUMBERS_MAX = SYMBOL_BLOCK_BYTES / 2,
};

/** A collected scope. */
struct symbol_scope_key {
	uint32_t id;
	/**
	 * A string that replaces the name of the outermost enclosing scope; 0: none. If id is
	 * 0, the name of a function without a scope.
	 */
	uint32_t symbol;
};

/** The data that applies from an address on. */
struct symbol_row {
	uint64_t address;
	struct symbol_scope_key scope;
	struct address_value line;
};

/** A scope in the form that the block gets. */
struct symbol_block_entry {
	struct symbol_scope_key key;
	/** Includes the flags. */
	uint32_t name;
	uint32_t call_line;
	uint32_t start_line;
	uint8_t outer;
	uint8_t call_file;
};

/** The current block. */
struct symbol_block_open {
	uint32_t row_count;
	uint32_t scope_count;
	uint32_t file_count;
	/** All lines combined by OR, which is as wide as the widest. */
	uint32_t line_bits;
	uint32_t scope_line_bits;
	uint64_t start;
	uint64_t last;
};

/** Initialize all but @collected with zeros. */
struct symbol_block_writer {
	/** The scopes (symbols/cache/scope_bytes.h); borrowed. */
	const struct byte_vector *collected;
	uint64_t base;
	/** Start of each block, relative to base. */
	struct offset_vector addresses;
	/** Allocated by big_bytes.h: the blocks, and the scopes that do not fit into blocks. */
	struct byte_vector blocks;
	struct byte_vector far;
	/** Maps a struct symbol_scope_key to an offset in @far. */
	struct hash_map far_scopes;
	struct symbol_block_open open;
	struct {
		uint32_t address;
		uint32_t line;
		uint8_t scope;
		uint8_t file;
	} rows[SYMBOL_BLOCK_NUMBERS_MAX];
	uint32_t files[SYMBOL_BLOCK_NUMBERS_MAX];
	struct symbol_block_entry scopes[SYMBOL_BLOCK_NUMBERS_MAX];
};

void symbol_block_writer_deinit(struct symbol_block_writer *writer);

/** Adds a row; addresses ascend. -E2BIG if they span more than 4 GiB, -ENOMEM. */
int symbol_block_writer_add(struct symbol_block_writer *writer, const struct symbol_row *row);

/** Writes the last block. -ENOMEM. */
int symbol_block_writer_finish(struct symbol_block_writer *writer);

#endif
