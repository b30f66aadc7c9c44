/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A hash map with open addressing from a 64-bit number, or from bytes, to a 64-bit value (an index
 * or a pointer). Hashes are seeded (hash64_bytes()), so no input can be made to collide. Removing
 * leaves no tombstones. All bytes zero is an empty map. Not thread-safe; callers bound the count.
 *
 * Number keys and bytes keys live side by side and never match each other. Bytes keys are copied
 * (an allocation per new key); finding allocates nothing.
 */
#ifndef LIB_BASE_HASH_MAP_H
#define LIB_BASE_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_map_slot;

struct hash_map {
	struct hash_map_slot *slots;
	size_t count;
	size_t capacity;
};

/** Frees the map and its copies of keys, not what values point to, and leaves an empty map. */
void hash_map_deinit(struct hash_map *map);

/** True and *@value if @key is there, else *@value is untouched; @value may be NULL. */
bool hash_map_find(const struct hash_map *map, uint64_t key, uint64_t *value);

/** Adds @key or replaces its value. 0 or -ENOMEM. */
int hash_map_set(struct hash_map *map, uint64_t key, uint64_t value);

/** True if @key was there; then *@value is its value. @value may be NULL. */
bool hash_map_remove(struct hash_map *map, uint64_t key, uint64_t *value);

/** The same with the @key_bytes bytes at @key as the key. */
bool hash_map_find_bytes(const struct hash_map *map, const void *key, size_t key_bytes,
			 uint64_t *value);
int hash_map_set_bytes(struct hash_map *map, const void *key, size_t key_bytes, uint64_t value);
bool hash_map_remove_bytes(struct hash_map *map, const void *key, size_t key_bytes,
			   uint64_t *value);

/**
 * Walks all entries in no order: start with *@cursor = 0; false at the end. @key (0 for bytes keys)
 * and @value may be NULL. The map must not change during the walk.
 */
bool hash_map_next(const struct hash_map *map, size_t *cursor, uint64_t *key, uint64_t *value);

/** For maps whose values are pointers: NULL if @key is not there. */
static inline void *hash_map_get_pointer(const struct hash_map *map, uint64_t key)
{
	uint64_t value;

	return hash_map_find(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

static inline int hash_map_set_pointer(struct hash_map *map, uint64_t key, const void *value)
{
	return hash_map_set(map, key, (uintptr_t)value);
}

#endif
