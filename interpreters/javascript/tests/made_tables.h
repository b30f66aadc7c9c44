/* SPDX-License-Identifier: Apache-2.0 */
/** Writers of V8's tables of positions, safepoints and translations, for tests. */
#ifndef INTERPRETERS_JAVASCRIPT_TESTS_MADE_TABLES_H
#define INTERPRETERS_JAVASCRIPT_TESTS_MADE_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "interpreters/javascript/v8_layout.h"

enum { MADE_TABLE_BYTES = 512 };

struct made_table {
	uint8_t bytes[MADE_TABLE_BYTES];
	size_t size;
	/** Code offset of the last position plus one; 0 before the first one. */
	int64_t behind_code_offset;
	int64_t packed;
};

static inline void made_byte(struct made_table *table, uint8_t byte)
{
	if (table->size == MADE_TABLE_BYTES)
		abort();
	table->bytes[table->size++] = byte;
}

/** Appends an unsigned number, 7 bits a byte. */
static inline void made_number(struct made_table *table, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		made_byte(table, (uint8_t)(number | 0x80));
	made_byte(table, (uint8_t)number);
}

/** Appends a signed number as zigzag: the sign in the low bit of two's complement (positions). */
static inline void made_zigzag(struct made_table *table, int64_t number)
{
	made_number(table, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

/** Appends a signed number: the sign in the low bit, the magnitude above it (translations). */
static inline void made_signed(struct made_table *table, int32_t number)
{
	made_number(table, (uint64_t)(number < 0 ? -(int64_t)number : number) << 1 | (number < 0));
}

/** Appends a number of @bytes bytes. */
static inline void made_fixed(struct made_table *table, uint32_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		made_byte(table, (uint8_t)(number >> 8 * i));
}

static inline uint64_t made_packed(int32_t script_offset, int32_t inlining_id)
{
	return (uint64_t)(script_offset + 1) << 1 | (uint64_t)(inlining_id + 1) << 31;
}

/** Appends an entry to a table of positions; code offsets ascend. */
static inline void made_position(struct made_table *table, enum v8_line line, int32_t code_offset,
				 int32_t script_offset, int32_t inlining_id, bool is_statement)
{
	const int64_t packed = (int64_t)made_packed(script_offset, inlining_id);
	/* Code offsets begin at -1. */
	const int64_t delta = code_offset + 1 - table->behind_code_offset;

	if (line >= V8_14_1)
		made_number(table, (uint64_t)delta << 2 | 2 | is_statement);
	else
		made_zigzag(table, is_statement ? delta : -delta - 1);
	made_zigzag(table, packed - table->packed);
	table->behind_code_offset = code_offset + 1;
	table->packed = packed;
}

#endif
