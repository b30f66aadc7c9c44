/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes a symbol cache (symbols/cache/symbol_cache.h) from the data that readers of debug data find, in
 * any order. The collected data is packed: about 3 bytes a row, 10 an inlined call.
 */
#ifndef SYMBOLS_CACHE_SYMBOL_CACHE_WRITER_H
#define SYMBOLS_CACHE_SYMBOL_CACHE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/cache/address_runs.h"
#include "symbols/cache/intervals.h"
#include "symbols/cache/string_table.h"
#include "symbols/cache/symbol_cache.h"

/** Initialize with zeros. Used by one thread. */
struct symbol_cache_writer {
	struct string_table strings;
	/** Packed by symbols/cache/scope_bytes.h. */
	struct byte_vector scopes;
	struct address_runs runs[SYMBOL_DATA_COUNT];
	/**
	 * The range of the file's code. Data for other addresses is ignored: a linker has left it
	 * over. An end of 0 is an empty range.
	 */
	uint64_t first_address;
	uint64_t end_address;
};

void symbol_cache_writer_deinit(struct symbol_cache_writer *writer);

/** -E2BIG, -ENOMEM. */
int symbol_cache_writer_add_scope(struct symbol_cache_writer *writer,
				  const struct symbol_scope *scope, uint32_t *id);

/** Adds the parts of the text in which each value of @intervals counts. Sorts @intervals. */
int symbol_cache_writer_add_intervals(struct symbol_cache_writer *writer, enum symbol_data table,
				      struct interval_vector *intervals);

/**
 * Writes the file at the beginning of @fd, and empties the writer. -E2BIG, -ENOMEM, or an error of
 * write().
 */
int symbol_cache_writer_finish(struct symbol_cache_writer *writer, struct hash128 key, int fd);

#endif
