/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/object_cache.h"

#include <stdlib.h>
#include <string.h>

static void release_object(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	free(value);
}

void object_cache_init(struct object_cache *cache, size_t key_bytes, size_t max_entries,
		       size_t max_bytes)
{
	cache->uncached = NULL;
	lru_cache_init(&cache->entries, key_bytes, max_entries, max_bytes, release_object, NULL);
}

void object_cache_deinit(struct object_cache *cache)
{
	if (cache->entries.max_entries)
		lru_cache_deinit(&cache->entries);
	free(cache->uncached);
	*cache = (struct object_cache){ 0 };
}

uint32_t object_cache_hash(uint64_t sum)
{
	uint32_t hash = sum >> 32;

	return hash ? hash : 1;
}

const void *object_cache_get(struct object_cache *cache, const void *key)
{
	return lru_cache_get(&cache->entries, key);
}

const void *object_cache_lend(struct object_cache *cache, void *object)
{
	free(cache->uncached);
	cache->uncached = object;
	return object;
}

const void *object_cache_add(struct object_cache *cache, const void *key, uint32_t *key_hash,
			     uint32_t hash, void *object, size_t bytes)
{
	const void *cached;

	if (*key_hash && *key_hash != hash) {
		free(object);
		return NULL;
	}
	*key_hash = hash;
	cached = lru_cache_get(&cache->entries, key);
	if (cached) {
		free(object);
		return cached;
	}
	if (lru_cache_put(&cache->entries, key, object, bytes + OBJECT_CACHE_ENTRY_BYTES))
		return object_cache_lend(cache, object);
	return object;
}

void object_cache_add_copy(struct object_cache *cache, const void *key, const void *object,
			   size_t bytes)
{
	void *copy = malloc(bytes);

	if (!copy)
		return;
	memcpy(copy, object, bytes);
	if (lru_cache_put(&cache->entries, key, copy, bytes + OBJECT_CACHE_ENTRY_BYTES))
		free(copy);
}
