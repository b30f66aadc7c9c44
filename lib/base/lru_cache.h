/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A cache from keys of one fixed size to pointers, bounded by a number of entries and by a sum of
 * bytes that the user states per entry. When either is full, the least recently used entry goes.
 * Every value that leaves (evicted, replaced, removed, at deinit) is handed to the release
 * function once. Getting a value allocates nothing. Not thread-safe.
 */
#ifndef LIB_BASE_LRU_CACHE_H
#define LIB_BASE_LRU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lru_entry;

/** Called with the entry already out of the cache; it must not call into the same cache. */
typedef void (*lru_release_fn)(void *context, const void *key, void *value);

struct lru_cache {
	size_t key_bytes;
	size_t max_entries;
	size_t max_bytes;
	lru_release_fn release;
	void *context;
	size_t count;
	size_t bytes;
	/* The entries, found by hash chains and linked by age; see lru_cache.c. */
	unsigned char *entries;
	size_t entry_stride;
	size_t entry_capacity;
	uint32_t *buckets;
	size_t bucket_count;
	uint32_t newest;
	uint32_t oldest;
	uint32_t mark;
	uint32_t free_entry;
	uint32_t used_entries;
};

/**
 * @max_bytes 0: no limit but @max_entries, which is at least 1 and below 2^31. @release may be NULL.
 * Allocates nothing yet.
 */
void lru_cache_init(struct lru_cache *cache, size_t key_bytes, size_t max_entries, size_t max_bytes,
		    lru_release_fn release, void *context);
void lru_cache_deinit(struct lru_cache *cache);

/** The value of @key, which becomes the most recently used; NULL if it is not there. */
void *lru_cache_get(struct lru_cache *cache, const void *key);

/** The value of @key without touching its age. */
void *lru_cache_peek(const struct lru_cache *cache, const void *key);

/**
 * Takes over @value as the value of @key, replacing an existing one, and evicts until both bounds hold. -E2BIG
 * if @bytes alone is over the limit, -ENOMEM; then the caller still owns @value and the cache is unchanged.
 */
int lru_cache_put(struct lru_cache *cache, const void *key, void *value, size_t bytes);

/**
 * As lru_cache_put(), but a value over the limit counts as the whole limit and becomes the only entry: -ENOMEM
 * only.
 */
int lru_cache_put_capped(struct lru_cache *cache, const void *key, void *value, size_t bytes);

/** Releases the entry of @key; false if there was none. */
bool lru_cache_remove(struct lru_cache *cache, const void *key);

/** Releases every entry that was neither put nor got since the call before this one. */
void lru_cache_age(struct lru_cache *cache);

#endif
