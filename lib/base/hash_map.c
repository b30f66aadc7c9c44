/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing over a power of two of slots, at most three quarters full. Removing shifts the followers of a
 * slot back (Knuth 6.4, algorithm R), so probes never meet tombstones.
 */

#include "lib/base/hash_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"

/* Value of key_bytes in a slot with a number key. */
#define NUMBER_KEY SIZE_MAX

enum { FIRST_CAPACITY = 16 };

struct hash_map_slot {
	/* 0: empty. */
	uint64_t hash;
	uint64_t value;
	union {
		uint64_t number;
		void *bytes;
	} key;
	size_t key_bytes;
};

/* A key to look up: @bytes are used for the hash and the comparison, for both kinds of keys. */
struct wanted_key {
	uint64_t hash;
	const void *bytes;
	size_t key_bytes;
};

static struct wanted_key want_bytes(const void *key, size_t key_bytes)
{
	return (struct wanted_key){
		/* Never 0, which marks an empty slot. */
		.hash = hash64_bytes(key, key_bytes) | 1ULL << 63,
		.bytes = key,
		.key_bytes = key_bytes,
	};
}

static struct wanted_key want_number(const uint64_t *key)
{
	struct wanted_key wanted = want_bytes(key, sizeof(*key));

	wanted.key_bytes = NUMBER_KEY;
	return wanted;
}

static bool slot_matches(const struct hash_map_slot *slot, const struct wanted_key *wanted)
{
	if (slot->hash != wanted->hash || slot->key_bytes != wanted->key_bytes)
		return false;
	if (slot->key_bytes == NUMBER_KEY)
		return memcmp(&slot->key.number, wanted->bytes, sizeof(uint64_t)) == 0;
	return slot->key_bytes == 0 || memcmp(slot->key.bytes, wanted->bytes, slot->key_bytes) == 0;
}

/* The slot of @wanted, or the empty slot where it would be added. The map has an empty slot. */
static struct hash_map_slot *find_slot(const struct hash_map *map, const struct wanted_key *wanted)
{
	size_t mask = map->capacity - 1;
	size_t i = wanted->hash & mask;

	while (map->slots[i].hash && !slot_matches(&map->slots[i], wanted))
		i = (i + 1) & mask;
	return &map->slots[i];
}

static int grow(struct hash_map *map)
{
	size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
	struct hash_map_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++) {
		size_t to = map->slots[i].hash & (capacity - 1);

		if (!map->slots[i].hash)
			continue;
		while (slots[to].hash)
			to = (to + 1) & (capacity - 1);
		slots[to] = map->slots[i];
	}
	free(map->slots);
	map->slots = slots;
	map->capacity = capacity;
	return 0;
}

static bool find(const struct hash_map *map, const struct wanted_key *wanted, uint64_t *value)
{
	const struct hash_map_slot *slot;

	if (!map->count)
		return false;
	slot = find_slot(map, wanted);
	if (!slot->hash)
		return false;
	if (value)
		*value = slot->value;
	return true;
}

static int copy_key(struct hash_map_slot *slot, const struct wanted_key *wanted)
{
	if (wanted->key_bytes == NUMBER_KEY) {
		memcpy(&slot->key.number, wanted->bytes, sizeof(slot->key.number));
		return 0;
	}
	slot->key.bytes = NULL;
	if (!wanted->key_bytes)
		return 0;
	slot->key.bytes = malloc(wanted->key_bytes);
	if (!slot->key.bytes)
		return -ENOMEM;
	memcpy(slot->key.bytes, wanted->bytes, wanted->key_bytes);
	return 0;
}

static int set(struct hash_map *map, const struct wanted_key *wanted, uint64_t value)
{
	struct hash_map_slot *slot = NULL;
	int err;

	if (map->capacity) {
		slot = find_slot(map, wanted);
		if (slot->hash) {
			slot->value = value;
			return 0;
		}
	}
	if (!slot || map->count + 1 > map->capacity / 4 * 3) {
		err = grow(map);
		if (err)
			return err;
		slot = find_slot(map, wanted);
	}
	err = copy_key(slot, wanted);
	if (err)
		return err;
	slot->hash = wanted->hash;
	slot->key_bytes = wanted->key_bytes;
	slot->value = value;
	map->count++;
	return 0;
}

static void free_key(struct hash_map_slot *slot)
{
	if (slot->hash && slot->key_bytes != NUMBER_KEY)
		free(slot->key.bytes);
}

static bool take_out(struct hash_map *map, const struct wanted_key *wanted, uint64_t *value)
{
	size_t mask = map->capacity - 1;
	struct hash_map_slot *slot;
	size_t hole, i;

	if (!find(map, wanted, value))
		return false;
	slot = find_slot(map, wanted);
	free_key(slot);
	hole = slot - map->slots;
	for (i = (hole + 1) & mask; map->slots[i].hash; i = (i + 1) & mask) {
		size_t home = map->slots[i].hash & mask;

		/* Slot i may move to the hole if its home is not behind the hole. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	memset(&map->slots[hole], 0, sizeof(map->slots[hole]));
	map->count--;
	return true;
}

void hash_map_deinit(struct hash_map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		free_key(&map->slots[i]);
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

bool hash_map_find(const struct hash_map *map, uint64_t key, uint64_t *value)
{
	struct wanted_key wanted = want_number(&key);

	return find(map, &wanted, value);
}

int hash_map_set(struct hash_map *map, uint64_t key, uint64_t value)
{
	struct wanted_key wanted = want_number(&key);

	return set(map, &wanted, value);
}

bool hash_map_remove(struct hash_map *map, uint64_t key, uint64_t *value)
{
	struct wanted_key wanted = want_number(&key);

	return take_out(map, &wanted, value);
}

bool hash_map_find_bytes(const struct hash_map *map, const void *key, size_t key_bytes,
			 uint64_t *value)
{
	struct wanted_key wanted = want_bytes(key, key_bytes);

	return find(map, &wanted, value);
}

int hash_map_set_bytes(struct hash_map *map, const void *key, size_t key_bytes, uint64_t value)
{
	struct wanted_key wanted = want_bytes(key, key_bytes);

	return set(map, &wanted, value);
}

bool hash_map_remove_bytes(struct hash_map *map, const void *key, size_t key_bytes, uint64_t *value)
{
	struct wanted_key wanted = want_bytes(key, key_bytes);

	return take_out(map, &wanted, value);
}

bool hash_map_next(const struct hash_map *map, size_t *cursor, uint64_t *key, uint64_t *value)
{
	while (*cursor < map->capacity) {
		const struct hash_map_slot *slot = &map->slots[(*cursor)++];

		if (!slot->hash)
			continue;
		if (key)
			*key = slot->key_bytes == NUMBER_KEY ? slot->key.number : 0;
		if (value)
			*value = slot->value;
		return true;
	}
	return false;
}
