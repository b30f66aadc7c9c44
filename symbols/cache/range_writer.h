/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes a range file (symbols/cache/range_file.h) out of what readers of debug data find, in the order in which they find
 * it. What is kept until the end is packed: some 3 bytes a row, 10 an inlined call.
 */
#ifndef SYMBOLS_CACHE_RANGE_WRITER_H
#define SYMBOLS_CACHE_RANGE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/cache/address_runs.h"
#include "symbols/cache/intervals.h"
#include "symbols/cache/range_file.h"
#include "symbols/cache/string_table.h"

/** All bytes zero is an empty one. Used by one thread. */
struct range_writer {
	struct string_table strings;
	/** By symbols/cache/scope_bytes.h. */
	struct byte_vector scopes;
	struct address_runs runs[RANGE_TABLE_COUNT];
	/** Code is in here: what claims to be elsewhere was left over by a linker. An end of 0 is none. */
	uint64_t first_address;
	uint64_t end_address;
};

void range_writer_deinit(struct range_writer *writer);

/** -E2BIG, -ENOMEM. */
int range_writer_add_scope(struct range_writer *writer, const struct range_scope *scope,
			   uint32_t *number);

/** Adds the parts of the text that @intervals leave to each of their values; they are sorted by it. */
int range_writer_add_intervals(struct range_writer *writer, enum range_table table,
			       struct interval_vector *intervals);

/** Writes the file at the beginning of @fd. The writer is empty afterwards. -E2BIG, -ENOMEM, or as write() says. */
int range_writer_finish(struct range_writer *writer, struct hash128 key, int fd);

#endif
