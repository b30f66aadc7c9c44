/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes a range file (symbols/cache/range_file.h) from the data that readers of debug data find, in
 * any order. The collected data is packed: about 3 bytes a row, 10 an inlined call.
 */
#ifndef SYMBOLS_CACHE_RANGE_WRITER_H
#define SYMBOLS_CACHE_RANGE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/cache/address_runs.h"
#include "symbols/cache/intervals.h"
#include "symbols/cache/range_file.h"
#include "symbols/cache/string_table.h"

/** Initialize with zeros. Used by one thread. */
struct range_writer {
	struct string_table strings;
	/** Packed by symbols/cache/scope_bytes.h. */
	struct byte_vector scopes;
	struct address_runs runs[RANGE_TABLE_COUNT];
	/**
	 * The range of the file's code. Data for other addresses is ignored: a linker has left it
	 * over. An end of 0 is an empty range.
	 */
	uint64_t first_address;
	uint64_t end_address;
};

void range_writer_deinit(struct range_writer *writer);

/** -E2BIG, -ENOMEM. */
int range_writer_add_scope(struct range_writer *writer, const struct range_scope *scope,
			   uint32_t *number);

/** Adds the parts of the text in which each value of @intervals counts. Sorts @intervals. */
int range_writer_add_intervals(struct range_writer *writer, enum range_table table,
			       struct interval_vector *intervals);

/**
 * Writes the file at the beginning of @fd, and empties the writer. -E2BIG, -ENOMEM, or an error of
 * write().
 */
int range_writer_finish(struct range_writer *writer, struct hash128 key, int fd);

#endif
