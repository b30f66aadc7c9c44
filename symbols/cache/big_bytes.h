/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Byte vectors that may be too large for the heap: above some megabytes they are mapped, from a
 * file if there is one, whose pages can be reclaimed. Read and append as for any byte_vector, but
 * use reserve and deinit of this file. For one thread.
 */
#ifndef SYMBOLS_CACHE_BIG_BYTES_H
#define SYMBOLS_CACHE_BIG_BYTES_H

#include "symbols/cache/varint.h"

enum {
	/** Larger vectors are mapped. */
	BIG_BYTES_IN_HEAP_MAX = 4 << 20,
};

/** Limit of all mapped vectors together. */
#define BIG_BYTES_MAX (1ULL << 30)

/**
 * From now on, vectors are mapped from files that @open_file opens, each of BIG_BYTES_MAX zeros. If
 * that fails, or without this call, they are mapped from memory.
 */
void big_bytes_use_files(int (*open_file)(int *fd));

/** Makes room for @wanted bytes in total. 0 or -ENOMEM. */
int big_bytes_reserve(struct byte_vector *bytes, size_t wanted);

/** Frees the vector and leaves it empty. */
void big_bytes_deinit(struct byte_vector *bytes);

#endif
