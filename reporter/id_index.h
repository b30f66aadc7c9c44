/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A hash table of the ids of items that are stored elsewhere. A slot has 8 bytes, half of them the
 * id. The user hashes the items (seeded: hash64_bytes()) and compares them. All bytes zero is
 * an empty index. Not thread-safe; the user limits the count.
 */
#ifndef REPORTER_ID_INDEX_H
#define REPORTER_ID_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/** Most memory that an entry takes, once there are a few entries. */
	ID_INDEX_ENTRY_BYTES = 22,
};

struct id_index {
	uint64_t *slots;
	size_t count;
	size_t capacity;
};

void id_index_deinit(struct id_index *index);

/** Makes room for one more item. -ENOMEM; then the index has not changed. */
int id_index_reserve(struct id_index *index);

/** Adds @id, below UINT32_MAX, whose item has @hash and is not in the index yet. Room is reserved. */
void id_index_add(struct id_index *index, uint64_t hash, uint32_t id);

/** Removes @id, which is in the index with @hash. */
void id_index_remove(struct id_index *index, uint64_t hash, uint32_t id);

/** True if the item with @id is the one that @key describes. */
typedef bool (*id_equals_fn)(const void *context, uint32_t id, const void *key);

/** True if the item with @hash that @key describes is in the index; *@id is then its id. */
bool id_index_find(const struct id_index *index, uint64_t hash, id_equals_fn equals,
		   const void *context, const void *key, uint32_t *id);

#endif
