/* SPDX-License-Identifier: Apache-2.0 */
/** Makes the blocks of a range file (symbols/cache/range_block.h) out of rows in the order of their addresses. */
#ifndef SYMBOLS_CACHE_RANGE_BLOCK_WRITER_H
#define SYMBOLS_CACHE_RANGE_BLOCK_WRITER_H

#include "lib/base/hash_map.h"
#include "symbols/cache/address_runs.h"
#include "symbols/cache/range_block.h"

enum {
	/* More than fit into a block, with those of the row that does not. */
	RANGE_BLOCK_NUMBERS_MAX = RANGE_BLOCK_BYTES / 2,
};

/** A scope as it was collected. */
struct range_scope_key {
	uint32_t number;
	/** A string by which the outermost one around it is called in its place; 0: none. Of scope 0 that of a function. */
	uint32_t symbol;
};

/** What holds from an address on. */
struct range_row {
	uint64_t address;
	struct range_scope_key scope;
	struct address_value line;
};

/** A scope as it will stand in the block. */
struct range_block_entry {
	struct range_scope_key key;
	/** With flags. */
	uint32_t name;
	uint32_t call_line;
	uint8_t outer;
	uint8_t call_file;
};

/** The block that rows are put into. */
struct range_block_open {
	uint32_t row_count;
	uint32_t scope_count;
	uint32_t file_count;
	/** All lines, by OR: as wide as the widest. */
	uint32_t line_bits;
	uint32_t call_line_bits;
	uint64_t start;
	uint64_t last;
};

/** All bytes zero but for @collected is an empty one. */
struct range_block_writer {
	/** By symbols/cache/scope_bytes.h; borrowed. */
	const struct byte_vector *collected;
	uint64_t base;
	/** Of each block, less the base. */
	struct offset_vector addresses;
	/** By big_bytes.h: the blocks; and scopes for which they have no room. */
	struct byte_vector blocks;
	struct byte_vector far;
	/** struct range_scope_key -> in @far */
	struct hash_map far_numbers;
	struct range_block_open open;
	struct {
		uint32_t address;
		uint32_t line;
		uint8_t scope;
		uint8_t file;
	} rows[RANGE_BLOCK_NUMBERS_MAX];
	uint32_t files[RANGE_BLOCK_NUMBERS_MAX];
	struct range_block_entry scopes[RANGE_BLOCK_NUMBERS_MAX];
};

void range_block_writer_deinit(struct range_block_writer *writer);

/** Addresses rise. -E2BIG if they span more than 4 GiB, -ENOMEM. */
int range_block_writer_add(struct range_block_writer *writer, const struct range_row *row);

/** Writes the last block. -ENOMEM. */
int range_block_writer_finish(struct range_block_writer *writer);

#endif
