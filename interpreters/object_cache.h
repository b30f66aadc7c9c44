/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Caches what was read of objects of a process, such as names and lines of functions. A key has the object's address and
 * fingerprint, and a hash of its contents, since forks of a process may create different objects with the same address
 * and fingerprint. The hash is not known before the object was read once: frames bring it along afterwards (the @object
 * of language_ops.symbolize). Copies of what may be freed are cached by the fingerprint alone. For one process; not
 * thread-safe.
 */
#ifndef INTERPRETERS_OBJECT_CACHE_H
#define INTERPRETERS_OBJECT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/lru_cache.h"

enum {
	/** Overhead of an entry. */
	OBJECT_CACHE_ENTRY_BYTES = 64,
};

/** All bytes zero is a cache that only object_cache_deinit() takes. */
struct object_cache {
	struct lru_cache entries;
	/** The object that was returned last, if it is not an entry; else NULL. */
	void *uncached;
};

/** @max_bytes includes OBJECT_CACHE_ENTRY_BYTES for each entry. Allocates nothing yet. */
void object_cache_init(struct object_cache *cache, size_t key_bytes, size_t max_entries,
		       size_t max_bytes);
void object_cache_deinit(struct object_cache *cache);

/** Makes a key's hash from a sum over an object's contents; never 0. */
uint32_t object_cache_hash(uint64_t sum);

/** Returns the object of @key, borrowed until the next call; NULL if it is not cached. */
const void *object_cache_get(struct object_cache *cache, const void *key);

/**
 * Takes over @object, one block of memory of @bytes bytes, whose contents have the hash @hash. @key_hash is the field of
 * @key with the hash: if it is 0, it becomes @hash, and else it has to be equal. Returns the object, or an equal one that
 * was cached before, borrowed until the next call; NULL if it is another object than that of @key.
 */
const void *object_cache_add(struct object_cache *cache, const void *key, uint32_t *key_hash,
			     uint32_t hash, void *object, size_t bytes);

/** Takes over @object without caching it. Returns it, borrowed until the next call. */
const void *object_cache_lend(struct object_cache *cache, void *object);

/** Caches a copy of @object in place of an earlier one, unless it is over the limit or memory is short. */
void object_cache_add_copy(struct object_cache *cache, const void *key, const void *object,
			   size_t bytes);

#endif
