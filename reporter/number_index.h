/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An index over things that lie elsewhere and are known by a number: a hash table of 8 bytes a slot,
 * half of it the number. Its user hashes the things (seeded: hash64_bytes()), and compares them. All
 * bytes zero is an empty index. Not thread-safe; the user bounds the count.
 */
#ifndef REPORTER_NUMBER_INDEX_H
#define REPORTER_NUMBER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/** What an entry takes at most, once there are a few. */
	NUMBER_INDEX_ENTRY_BYTES = 22,
};

struct number_index {
	uint64_t *slots;
	size_t count;
	size_t capacity;
};

void number_index_deinit(struct number_index *index);

/** Makes room for one more entry, so that the next add cannot fail. 0 or -ENOMEM. */
int number_index_reserve(struct number_index *index);

/** Adds @number, below UINT32_MAX, whose thing has @hash and is not there yet. */
void number_index_add(struct number_index *index, uint64_t hash, uint32_t number);

/** Removes @number, which was added with @hash. */
void number_index_remove(struct number_index *index, uint64_t hash, uint32_t number);

/** Whether the thing with @number is the one that @key describes. */
typedef bool (*number_equals_fn)(const void *context, uint32_t number, const void *key);

/** True and *@number if the thing with @hash that @key describes is there. */
bool number_index_find(const struct number_index *index, uint64_t hash, number_equals_fn equals,
		       const void *context, const void *key, uint32_t *number);

#endif
