/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finished symbol caches by their keys, and their mappings. Files are held open up to a limit of
 * bytes; the least recently used are closed. Not thread-safe.
 */
#ifndef SYMBOLS_MADE_SYMBOL_CACHES_H
#define SYMBOLS_MADE_SYMBOL_CACHES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/lru_cache.h"
#include "symbols/cache/mapped_symbol_cache.h"

/** A symbol cache, shared by all binaries whose files have the same bytes. */
struct made_file {
	struct hash128 key;
	/** -1: it was dropped. */
	int fd;
	uint32_t references;
};

struct made_symbol_caches {
	/** Maps a key to a struct made_file, without a reference. */
	struct hash_map made;
	/** Maps a key to a struct mapped_symbol_cache. */
	struct lru_cache mapped;
	/**
	 * Maps a key to a struct made_file, without a reference: those whose files are held open.
	 */
	struct lru_cache files;
};

/** @file_bytes is the limit of all open files together. @made must not be moved. */
void made_symbol_caches_init(struct made_symbol_caches *made, size_t files_max, size_t mapped_max,
			     uint64_t file_bytes);

/** Call this when there are no references any more. */
void made_symbol_caches_deinit(struct made_symbol_caches *made);

/** Returns a reference; NULL if there is none. */
struct made_file *made_symbol_caches_find(struct made_symbol_caches *made, struct hash128 key);

/** Takes over @fd in any case; it has @bytes. Returns a reference; NULL without memory. */
struct made_file *made_symbol_caches_add(struct made_symbol_caches *made, struct hash128 key,
					 int fd, uint64_t bytes);

/** Takes NULL. */
void made_symbol_caches_unref(struct made_symbol_caches *made, struct made_file *file);

/**
 * Returns a reference, which the caller owns. The file must not have been dropped. NULL without
 * memory.
 */
struct mapped_symbol_cache *made_symbol_caches_map(struct made_symbol_caches *made,
						   struct made_file *file);

#endif
