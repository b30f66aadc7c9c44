/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The disk cache of stack deltas (lib/base/file_cache.h), so that a restarted agent need not parse the
 * running programs again. A file that is damaged, of another version or of another key is removed and
 * counts as missing.
 *
 * Thread-safe: calls may come from several load threads.
 */
#ifndef STACKDELTAS_DELTA_CACHE_H
#define STACKDELTAS_DELTA_CACHE_H

#include <stdint.h>

#include "lib/base/hash128.h"
#include "lib/model/stack_deltas.h"
#include "stackdeltas/unwind_input.h"

struct delta_cache;

struct delta_cache_statistics {
	uint64_t hits;
	uint64_t misses;
	uint64_t stores;
	/** Number of files that were removed because they were damaged, and because of the limit. */
	uint64_t damaged;
	uint64_t evicted;
};

/** As file_cache_create(). The caller destroys the cache. */
int delta_cache_create(const char *directory, uint64_t max_bytes, struct delta_cache **cache);
void delta_cache_destroy(struct delta_cache *cache);

/** Loads the deltas of @key. -ENOENT if there are none. The caller deinits @deltas. */
int delta_cache_load(struct delta_cache *cache, struct hash128 key, struct stack_deltas *deltas);

/** Stores a copy of @deltas. Errors of the system calls; no file is left then. */
int delta_cache_store(struct delta_cache *cache, struct hash128 key,
		      const struct stack_deltas *deltas);

/**
 * Loads the deltas of @input, or extracts and stores them. All users of deltas call this. @cache may be NULL: then
 * they are extracted, as those of Go's files always are. A failure to store is no error.
 */
int delta_cache_get(struct delta_cache *cache, const struct unwind_input *input,
		    struct stack_deltas *deltas);

void delta_cache_get_statistics(struct delta_cache *cache,
				struct delta_cache_statistics *statistics);

#endif
