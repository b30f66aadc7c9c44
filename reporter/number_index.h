/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A hash table of numbered items that are stored elsewhere. A slot has 8 bytes, half of them the
 * number. The user hashes the items (seeded: hash64_bytes()) and compares them. All bytes zero is
 * an empty index. Not thread-safe; the user limits the count.
 */
#ifndef REPORTER_NUMBER_INDEX_H
#define REPORTER_NUMBER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/** Most memory that an entry takes, once there are a few entries. */
	NUMBER_INDEX_ENTRY_BYTES = 22,
};

struct number_index {
	uint64_t *slots;
	size_t count;
	size_t capacity;
};

void number_index_deinit(struct number_index *index);

/** Adds @number, below UINT32_MAX. Its item has @hash and is not in the index yet. */
int number_index_reserve(struct number_index *index);

/** Adds @number, below UINT32_MAX, whose thing has @hash and is not there yet. */
void number_index_add(struct number_index *index, uint64_t hash, uint32_t number);

/** True if the item with @number is the one that @key describes. */
void number_index_remove(struct number_index *index, uint64_t hash, uint32_t number);

/** True if the item with @hash that @key describes is in the index; *@number is then its number. */
typedef bool (*number_equals_fn)(const void *context, uint32_t number, const void *key);

/** True and *@number if the thing with @hash that @key describes is there. */
bool number_index_find(const struct number_index *index, uint64_t hash, number_equals_fn equals,
		       const void *context, const void *key, uint32_t *number);

#endif
