/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finished range files by their keys, and their mappings. Files are held open up to a limit of
 * bytes; the least recently used are closed. Not thread-safe.
 */
#ifndef SYMBOLS_MADE_RANGES_H
#define SYMBOLS_MADE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/lru_cache.h"
#include "symbols/cache/mapped_ranges.h"

/** A range file, shared by all binaries whose files have the same bytes. */
struct made_file {
	struct hash128 key;
	/** -1: it was dropped. */
	int fd;
	uint32_t references;
};

struct made_ranges {
	/** Maps a key to a struct made_file, without a reference. */
	struct hash_map made;
	/** Maps a key to a struct mapped_ranges. */
	struct lru_cache mapped;
	/**
	 * Maps a key to a struct made_file, without a reference: those whose files are held open.
	 */
	struct lru_cache files;
};

/** @file_bytes is the limit of all open files together. @made must not be moved. */
void made_ranges_init(struct made_ranges *made, size_t files_max, size_t mapped_max,
		      uint64_t file_bytes);

/** Call this when there are no references any more. */
void made_ranges_deinit(struct made_ranges *made);

/** Returns a reference; NULL if there is none. */
struct made_file *made_ranges_find(struct made_ranges *made, struct hash128 key);

/** Takes over @fd in any case; it has @bytes. Returns a reference; NULL without memory. */
struct made_file *made_ranges_add(struct made_ranges *made, struct hash128 key, int fd,
				  uint64_t bytes);

/** Takes NULL. */
void made_ranges_unref(struct made_ranges *made, struct made_file *file);

/**
 * Returns a reference, which the caller owns. The file must not have been dropped. NULL without
 * memory.
 */
struct mapped_ranges *made_ranges_map(struct made_ranges *made, struct made_file *file);

#endif
