/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of run-time generated code, by address. Readers of files (perf_map.h, jitdump.h) add the functions that
 * the files name. Since memory is reused, a new function removes all earlier ones whose code it overlaps, as a
 * whole. A function that no longer fits into the table does so too: a full table has fewer names, not wrong
 * ones.
 *
 * Functions are added in batches. A batch loses its overlaps, is sorted and then merged into the table, so that
 * a long file costs a few passes over the table and not one for each function.
 */
#ifndef LIB_HOST_CODE_NAMES_H
#define LIB_HOST_CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

enum {
	CODE_NAMES_MAX_FUNCTIONS = 1 << 17,
	/** Bytes of all names and of the data behind them. */
	CODE_NAMES_MAX_TEXT_BYTES = 6 << 20,
	/** Bytes of one name; longer names are cut. */
	CODE_NAME_BYTES = 512,
};

struct code_function {
	uint64_t start;
	uint32_t size;
	/** Offset of its name in the text of all functions. */
	uint32_t text;
	/** Bytes of the name with its NUL and of the data that its reader put behind it. */
	uint32_t text_bytes;
};

VECTOR_DEFINE(code_functions, struct code_function)
VECTOR_DEFINE(code_text, char)

/** All bytes zero is an empty table. One thread at a time. */
struct code_names {
	/** Sorted by start, without overlaps. */
	struct code_functions functions;
	/** Names and data of functions; dead_text_bytes belong to functions that were removed. */
	struct code_text text;
	size_t dead_text_bytes;
	/** Number of functions that did not fit. */
	uint64_t left_out_count;
};

void code_names_deinit(struct code_names *names);

/** The function at @address, borrowed until the table changes; NULL if there is none. */
const struct code_function *code_names_find(const struct code_names *names, uint64_t address);

/** The name of @function. */
static inline const char *code_names_text(const struct code_names *names,
					  const struct code_function *function)
{
	return names->text.items + function->text;
}

/** Bytes of memory that the table holds. */
size_t code_names_bytes(const struct code_names *names);

struct code_batch;

/**
 * Begins a batch. The table must not be searched until code_batch_end(). NULL without memory.
 */
struct code_batch *code_batch_begin(struct code_names *names);

/**
 * Adds a function of @size bytes, which is not 0 and does not overflow, with its name, which may be cut and
 * gets a NUL, and @more_bytes bytes of @more behind it. -ENOMEM: the table lacks some functions and must not be
 * used any more.
 */
int code_batch_add(struct code_batch *batch, uint64_t start, uint32_t size, const char *name,
		   size_t length, const void *more, uint32_t more_bytes);

/**
 * Adds a copy of the last function at @old_start, of @size bytes, at @start. Adds none if there is no such
 * function or it has another size. The old one stays until a new function overlaps it.
 */
int code_batch_move(struct code_batch *batch, uint64_t old_start, uint64_t start, uint32_t size);

/** Merges the rest of the batch, unless @err is set, and frees the batch. Returns @err, 0 or -ENOMEM. */
int code_batch_end(struct code_batch *batch, int err);

#endif
