/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Range files that were made, by their keys: held open up to a number of bytes, the least recently used go; and
 * their mappings. Not thread-safe.
 */
#ifndef SYMBOLS_MADE_RANGES_H
#define SYMBOLS_MADE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/lru_cache.h"
#include "symbols/cache/mapped_ranges.h"

/** A range file: of all whose files have the same bytes. */
struct made_file {
	struct hash128 key;
	/** -1: it was dropped. */
	int fd;
	uint32_t references;
};

struct made_ranges {
	/** key -> struct made_file, not referenced */
	struct hash_map made;
	/** key -> struct mapped_ranges */
	struct lru_cache mapped;
	/** key -> struct made_file, not referenced: those whose files are held open */
	struct lru_cache files;
};

/** @file_bytes: of all files that are held open. @made stays where it is. */
void made_ranges_init(struct made_ranges *made, size_t files_max, size_t mapped_max,
		      uint64_t file_bytes);

/** When nobody has a reference any more. */
void made_ranges_deinit(struct made_ranges *made);

/** A reference; NULL if there is none. */
struct made_file *made_ranges_find(struct made_ranges *made, struct hash128 key);

/** Takes @fd over, in any case, which has @bytes. A reference; NULL without memory. */
struct made_file *made_ranges_add(struct made_ranges *made, struct hash128 key, int fd,
				  uint64_t bytes);

/** Takes NULL. */
void made_ranges_unref(struct made_ranges *made, struct made_file *file);

/** A reference of the caller's. The file was not dropped. NULL without memory. */
struct mapped_ranges *made_ranges_map(struct made_ranges *made, struct made_file *file);

#endif
