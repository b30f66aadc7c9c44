/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of code that a process makes while it runs, by address. Readers of files (perf_map.h,
 * jitdump.h) put functions in as the files name them. Memory is used again: a function takes the
 * place of all earlier ones whose code it overlaps, whole. So does one that there is no room for: a
 * table that is full has fewer names, not wrong ones.
 *
 * Functions are taken in by batches: each is rid of overlaps, sorted and merged into the table, so
 * that a long file costs a few passes over the table and not one for each function.
 */
#ifndef LIB_HOST_CODE_NAMES_H
#define LIB_HOST_CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

enum {
	CODE_NAMES_MAX_FUNCTIONS = 1 << 17,
	/** Of names, with what stands behind them. */
	CODE_NAMES_MAX_TEXT_BYTES = 6 << 20,
	/** Of one name; longer ones are cut. */
	CODE_NAME_BYTES = 512,
};

struct code_function {
	uint64_t start;
	uint32_t size;
	/** Where its name is in the bytes of all. */
	uint32_t text;
	/** Of the name with its NUL, and of what its reader put behind it. */
	uint32_t text_bytes;
};

VECTOR_DEFINE(code_functions, struct code_function)
VECTOR_DEFINE(code_text, char)

/** All bytes zero is an empty table. One thread at a time. */
struct code_names {
	/** By start, without overlaps. */
	struct code_functions functions;
	/** Of functions; some belongs to functions that are gone. */
	struct code_text text;
	size_t dead_text_bytes;
	/** Functions that there was no room for. */
	uint64_t left_out_count;
};

void code_names_deinit(struct code_names *names);

/** The function at @address, borrowed until the table changes; NULL if none is there. */
const struct code_function *code_names_find(const struct code_names *names, uint64_t address);

/** Its name. */
static inline const char *code_names_text(const struct code_names *names,
					  const struct code_function *function)
{
	return names->text.items + function->text;
}

/** Memory that the table holds. */
size_t code_names_bytes(const struct code_names *names);

struct code_batch;

/**
 * Begins to take functions in: the table is not looked up until code_batch_end().
 * NULL without memory.
 */
struct code_batch *code_batch_begin(struct code_names *names);

/**
 * Adds a function of @size bytes, which are not 0 and end within the address space, with its name,
 * which is cut and gets its NUL, and @more_bytes of @more behind that. -ENOMEM: the table lacks
 * some of the functions, and is of no use any more.
 */
int code_batch_add(struct code_batch *batch, uint64_t start, uint32_t size, const char *name,
		   size_t length, const void *more, uint32_t more_bytes);

/**
 * Adds what the last function that starts at @old_start has, of @size bytes at @start; nothing if
 * there is none, or one of another size. The old one stays until something takes its place.
 */
int code_batch_move(struct code_batch *batch, uint64_t old_start, uint64_t start, uint32_t size);

/** Merges what is left, unless @err is set, and frees the batch. Returns @err, 0 or -ENOMEM. */
int code_batch_end(struct code_batch *batch, int err);

#endif
