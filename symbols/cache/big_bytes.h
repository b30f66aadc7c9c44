/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Vectors of bytes that may become larger than memory should be used for: above some megabytes they lie in a
 * mapping, of a file if there is one, whose pages can be had again. They are read and appended to as any byte_vector,
 * but reserve and deinit are these. Of one thread.
 */
#ifndef SYMBOLS_CACHE_BIG_BYTES_H
#define SYMBOLS_CACHE_BIG_BYTES_H

#include "symbols/cache/varint.h"

enum {
	/** Above it a vector is mapped. */
	BIG_BYTES_IN_HEAP_MAX = 4 << 20,
};

/** Of all that are mapped together. */
#define BIG_BYTES_MAX (1ULL << 30)

/**
 * From now on mappings are of files that @open_file opens, of BIG_BYTES_MAX zeroes each; where it fails, and without
 * this, of memory.
 */
void big_bytes_use_files(int (*open_file)(int *fd));

/** Makes room for @wanted bytes in all. 0 or -ENOMEM. */
int big_bytes_reserve(struct byte_vector *bytes, size_t wanted);

/** Leaves an empty vector. */
void big_bytes_deinit(struct byte_vector *bytes);

#endif
