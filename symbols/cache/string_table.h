/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Strings that are stored once each, one after the other, each with a NUL. A string's id is its
 * offset; 0 is the empty string. A string takes 4 bytes besides its own, so that the names of a
 * debug file of a gigabyte fit into some ten megabytes.
 */
#ifndef SYMBOLS_CACHE_STRING_TABLE_H
#define SYMBOLS_CACHE_STRING_TABLE_H

#include "symbols/cache/varint.h"

enum {
	/** Strings beyond this size get no id. */
	STRING_TABLE_MAX_BYTES = 512 << 20,
};

struct string_table {
	/** Empty, or begins with the empty string. Allocated by big_bytes.h. */
	struct byte_vector bytes;
	/** Open addressing; 0 is a free slot. */
	uint32_t *slots;
	uint32_t slot_count;
	uint32_t count;
	/** 0: STRING_TABLE_MAX_BYTES. */
	uint32_t max_bytes;
};

void string_table_deinit(struct string_table *table);

/** The id of the first @length bytes of @text, which hold no NUL. -E2BIG, -ENOMEM. */
int string_table_add(struct string_table *table, const char *text, size_t length, uint32_t *id);

/** Frees the memory that is only needed to add strings. */
void string_table_finish(struct string_table *table);

#endif
