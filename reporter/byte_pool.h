/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Byte strings that are each stored once, back to back in large chunks, and numbered from 0.
 * Strings are never removed. All bytes zero is empty. Not thread-safe; the user limits the size by
 * means of byte_pool_cost().
 */
#ifndef REPORTER_BYTE_POOL_H
#define REPORTER_BYTE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "reporter/id_index.h"

enum {
	CHUNK_BYTES = 64 << 10,
};

/** Owned chunks of memory. */
VECTOR_DEFINE(chunk_vector, void *)

/** Adds an uninitialized chunk; NULL without memory. */
void *chunks_add(struct chunk_vector *chunks, size_t bytes);
void chunks_free(struct chunk_vector *chunks);

/** Address and length of a string. */
struct pooled_string {
	const void *bytes;
	size_t count;
};

VECTOR_DEFINE(pooled_string_vector, struct pooled_string)

struct byte_pool {
	struct pooled_string_vector strings;
	struct id_index index;
	struct chunk_vector chunks;
	/** The end of the strings in the last chunk, and the bytes that are free after it. */
	char *end;
	size_t room;
};

void byte_pool_deinit(struct byte_pool *pool);

/** The memory that a string of @count bytes takes. */
size_t byte_pool_cost(size_t count);

/**
 * True if the string with @hash, seeded (hash64_bytes()), is stored; *@id is then its id.
 */
bool byte_pool_find(const struct byte_pool *pool, const void *bytes, size_t count, uint64_t hash,
		    uint32_t *id);

/** Makes room for a string of @count bytes, so that the next add cannot fail. 0 or -ENOMEM. */
int byte_pool_reserve(struct byte_pool *pool, size_t count);

/** Copies the string, which must not be stored yet; returns its id. */
uint32_t byte_pool_add(struct byte_pool *pool, const void *bytes, size_t count, uint64_t hash);

/**
 * The stored copy, whose address does not change. It is aligned to 8 if all strings have multiples
 * of 8 bytes.
 */
static inline const void *byte_pool_at(const struct byte_pool *pool, uint32_t id)
{
	return pool->strings.items[id].bytes;
}

#endif
