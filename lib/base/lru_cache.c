/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries are in one array that grows up to the limit. Links are indexes, so that the array may move. An entry
 * is in one hash chain and in the list by age, or in the list of free entries.
 */

#include "lib/base/lru_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"
#include "lib/base/vector.h"

#define NO_ENTRY UINT32_MAX

struct lru_entry {
	uint64_t hash;
	void *value;
	size_t bytes;
	/* The next in the chain, or in the list of free entries. */
	uint32_t next;
	uint32_t newer;
	uint32_t older;
	unsigned char key[];
};

static struct lru_entry *entry_at(const struct lru_cache *cache, uint32_t index)
{
	return (struct lru_entry *)(cache->entries + index * cache->entry_stride);
}

void lru_cache_init(struct lru_cache *cache, size_t key_bytes, size_t max_entries, size_t max_bytes,
		    lru_release_fn release, void *context)
{
	size_t entry_bytes = sizeof(struct lru_entry) + key_bytes;

	assert(max_entries > 0 && max_entries < NO_ENTRY / 2);
	*cache = (struct lru_cache){
		.key_bytes = key_bytes,
		.max_entries = max_entries,
		.max_bytes = max_bytes ? max_bytes : SIZE_MAX,
		.release = release,
		.context = context,
		.entry_stride = (entry_bytes + 7) & ~(size_t)7,
		.newest = NO_ENTRY,
		.oldest = NO_ENTRY,
		.mark = NO_ENTRY,
		.free_entry = NO_ENTRY,
	};
}

static void unlink_age(struct lru_cache *cache, uint32_t index)
{
	const struct lru_entry *entry = entry_at(cache, index);

	if (cache->mark == index)
		cache->mark = entry->older;
	if (entry->newer == NO_ENTRY)
		cache->newest = entry->older;
	else
		entry_at(cache, entry->newer)->older = entry->older;
	if (entry->older == NO_ENTRY)
		cache->oldest = entry->newer;
	else
		entry_at(cache, entry->older)->newer = entry->newer;
}

static void link_newest(struct lru_cache *cache, uint32_t index)
{
	struct lru_entry *entry = entry_at(cache, index);

	entry->newer = NO_ENTRY;
	entry->older = cache->newest;
	if (cache->newest == NO_ENTRY)
		cache->oldest = index;
	else
		entry_at(cache, cache->newest)->newer = index;
	cache->newest = index;
}

static void link_chain(struct lru_cache *cache, uint32_t index)
{
	struct lru_entry *entry = entry_at(cache, index);
	uint32_t *bucket = &cache->buckets[entry->hash & (cache->bucket_count - 1)];

	entry->next = *bucket;
	*bucket = index;
}

static uint32_t find_entry(const struct lru_cache *cache, const void *key, uint64_t hash)
{
	uint32_t index;

	if (!cache->count)
		return NO_ENTRY;
	index = cache->buckets[hash & (cache->bucket_count - 1)];
	while (index != NO_ENTRY) {
		const struct lru_entry *entry = entry_at(cache, index);

		if (entry->hash == hash && memcmp(entry->key, key, cache->key_bytes) == 0)
			return index;
		index = entry->next;
	}
	return NO_ENTRY;
}

static void release_value(struct lru_cache *cache, const void *key, void *value)
{
	if (cache->release)
		cache->release(cache->context, key, value);
}

static void drop_entry(struct lru_cache *cache, uint32_t index)
{
	struct lru_entry *entry = entry_at(cache, index);
	uint32_t *link = &cache->buckets[entry->hash & (cache->bucket_count - 1)];

	while (*link != index)
		link = &entry_at(cache, *link)->next;
	*link = entry->next;
	unlink_age(cache, index);
	entry->next = cache->free_entry;
	cache->free_entry = index;
	cache->count--;
	cache->bytes -= entry->bytes;
	release_value(cache, entry->key, entry->value);
}

void lru_cache_deinit(struct lru_cache *cache)
{
	while (cache->count)
		drop_entry(cache, cache->oldest);
	free(cache->entries);
	free(cache->buckets);
	memset(cache, 0, sizeof(*cache));
}

static void make_newest(struct lru_cache *cache, uint32_t index)
{
	unlink_age(cache, index);
	link_newest(cache, index);
}

void *lru_cache_get(struct lru_cache *cache, const void *key)
{
	uint32_t index = find_entry(cache, key, hash64_bytes(key, cache->key_bytes));

	if (index == NO_ENTRY)
		return NULL;
	make_newest(cache, index);
	return entry_at(cache, index)->value;
}

void *lru_cache_peek(const struct lru_cache *cache, const void *key)
{
	uint32_t index = find_entry(cache, key, hash64_bytes(key, cache->key_bytes));

	return index == NO_ENTRY ? NULL : entry_at(cache, index)->value;
}

/* At least one bucket per entry, a power of two. All entries are in chains or free. */
static int grow_buckets(struct lru_cache *cache, size_t wanted)
{
	size_t bucket_count = cache->bucket_count ? cache->bucket_count : 8;
	uint32_t *buckets;

	while (bucket_count < wanted)
		bucket_count *= 2;
	if (bucket_count == cache->bucket_count)
		return 0;
	buckets = malloc(bucket_count * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < bucket_count; i++)
		buckets[i] = NO_ENTRY;
	free(cache->buckets);
	cache->buckets = buckets;
	cache->bucket_count = bucket_count;
	for (uint32_t i = cache->newest; i != NO_ENTRY; i = entry_at(cache, i)->older)
		link_chain(cache, i);
	return 0;
}

/* Makes sure that take_entry() finds an entry. */
static int reserve_entry(struct lru_cache *cache)
{
	size_t capacity = cache->entry_capacity;
	void *entries;
	int err;

	if (cache->free_entry != NO_ENTRY || cache->used_entries < cache->entry_capacity)
		return 0;
	err = grow_buckets(cache, (size_t)cache->used_entries + 1);
	if (err)
		return err;
	entries = vector_grow(cache->entries, &capacity, cache->used_entries + 1,
			      cache->entry_stride);
	if (!entries)
		return -ENOMEM;
	cache->entries = entries;
	cache->entry_capacity = capacity;
	return grow_buckets(cache, capacity);
}

static uint32_t take_entry(struct lru_cache *cache)
{
	uint32_t index = cache->free_entry;

	if (index == NO_ENTRY)
		return cache->used_entries++;
	cache->free_entry = entry_at(cache, index)->next;
	return index;
}

static void replace_value(struct lru_cache *cache, uint32_t index, void *value, size_t bytes)
{
	struct lru_entry *entry = entry_at(cache, index);
	void *old_value = entry->value;

	entry->value = value;
	cache->bytes += bytes - entry->bytes;
	entry->bytes = bytes;
	make_newest(cache, index);
	release_value(cache, entry->key, old_value);
	/* This entry is the newest, and alone it is within the limit. */
	while (cache->bytes > cache->max_bytes)
		drop_entry(cache, cache->oldest);
}

int lru_cache_put(struct lru_cache *cache, const void *key, void *value, size_t bytes)
{
	uint64_t hash = hash64_bytes(key, cache->key_bytes);
	struct lru_entry *entry;
	uint32_t index;
	int err;

	if (bytes > cache->max_bytes)
		return -E2BIG;
	index = find_entry(cache, key, hash);
	if (index != NO_ENTRY) {
		replace_value(cache, index, value, bytes);
		return 0;
	}
	if (cache->count < cache->max_entries) {
		err = reserve_entry(cache);
		if (err)
			return err;
	}
	while (cache->count >= cache->max_entries || cache->bytes > cache->max_bytes - bytes)
		drop_entry(cache, cache->oldest);
	index = take_entry(cache);
	entry = entry_at(cache, index);
	entry->hash = hash;
	entry->value = value;
	entry->bytes = bytes;
	memcpy(entry->key, key, cache->key_bytes);
	link_chain(cache, index);
	link_newest(cache, index);
	cache->count++;
	cache->bytes += bytes;
	return 0;
}

int lru_cache_put_capped(struct lru_cache *cache, const void *key, void *value, size_t bytes)
{
	bool is_over = cache->max_bytes && bytes > cache->max_bytes;

	return lru_cache_put(cache, key, value, is_over ? cache->max_bytes : bytes);
}

bool lru_cache_remove(struct lru_cache *cache, const void *key)
{
	uint32_t index = find_entry(cache, key, hash64_bytes(key, cache->key_bytes));

	if (index == NO_ENTRY)
		return false;
	drop_entry(cache, index);
	return true;
}

void lru_cache_age(struct lru_cache *cache)
{
	/* The mark is the newest entry of the last call that was not used since. */
	while (cache->count && cache->mark != NO_ENTRY)
		drop_entry(cache, cache->oldest);
	cache->mark = cache->newest;
}
