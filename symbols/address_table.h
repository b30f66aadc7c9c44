/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What holds from which address on, as it is looked up: rows in blocks of up to 16; an index of the
 * addresses at which the blocks begin is searched. Within a block all numbers of a kind have one width, so that
 * the row that counts is found without reading those before it. The bytes are believed in
 * nothing: what is looked up in damaged ones may be wrong, and no more.
 *
 * A block is a byte with the number of its rows less 1, and in the upper half of it the bytes that
 * each address takes, less 1; a byte with those that each first number takes, and in the upper half
 * those of each second; the least first number and the least second one, of 4 bytes each; then of all
 * rows but the first the address less the block's; of all rows the first number less the least; the
 * same of the second ones. Widths are 0 (all are alike) to 4.
 */
#ifndef SYMBOLS_ADDRESS_TABLE_H
#define SYMBOLS_ADDRESS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/varint.h"

enum {
	ADDRESS_TABLE_BLOCK_ROWS = 16,
};

/** Zeroes: nothing is known from here on. */
struct address_value {
	uint32_t first;
	uint32_t second;
};

struct address_row {
	uint64_t address;
	struct address_value value;
};

VECTOR_DEFINE(number_vector, uint32_t)

/** A table that is being written: owned. */
struct address_table_bytes {
	uint64_t base;
	uint64_t row_count;
	/** Of each block: its address less @base; and where its rows begin in @rows. */
	struct number_vector addresses;
	struct number_vector offsets;
	/** By big_bytes.h. */
	struct byte_vector rows;
	/** Of the writer: rows that wait until their block is full. */
	struct address_row waiting[ADDRESS_TABLE_BLOCK_ROWS];
	uint32_t waiting_count;
};

void address_table_bytes_deinit(struct address_table_bytes *table);

/** Appends a row; addresses rise. -E2BIG if the table spans more than 4 GiB, -ENOMEM. */
int address_table_bytes_add(struct address_table_bytes *table, struct address_row row);

/** Writes the last block, when all rows are there. As above. */
int address_table_bytes_finish(struct address_table_bytes *table);

/** Where a table lies in memory: borrowed, numbers of 32 bits in little endian at any alignment. */
struct address_table {
	uint64_t base;
	uint32_t block_count;
	const uint8_t *addresses;
	const uint8_t *offsets;
	const uint8_t *rows;
	size_t rows_bytes;
};

/** What holds at @address; zeroes if nothing does. */
struct address_value address_table_lookup(const struct address_table *table, uint64_t address);

#endif
