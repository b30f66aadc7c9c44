/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Strings of bytes that are kept once each, behind one another in large blocks, and known by a number
 * from 0. Nothing is taken out. All bytes zero is empty. Not thread-safe; the user bounds the size by
 * what kept_bytes_cost() says.
 */
#ifndef REPORTER_KEPT_BYTES_H
#define REPORTER_KEPT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "reporter/number_index.h"

enum {
	CHUNK_BYTES = 64 << 10,
};

/** Blocks of memory, owned. */
VECTOR_DEFINE(chunk_vector, void *)

/** A new block, not initialized; NULL without memory. */
void *chunks_add(struct chunk_vector *chunks, size_t bytes);
void chunks_free(struct chunk_vector *chunks);

/** Where one lies, and how long it is. */
struct kept_string {
	const void *bytes;
	size_t count;
};

VECTOR_DEFINE(kept_string_vector, struct kept_string)

struct kept_bytes {
	struct kept_string_vector strings;
	struct number_index index;
	struct chunk_vector chunks;
	/** In the last chunk. */
	char *end;
	size_t room;
};

void kept_bytes_deinit(struct kept_bytes *kept);

/** What a string of @count bytes takes. */
size_t kept_bytes_cost(size_t count);

/** Whether the string with @hash, seeded (hash64_bytes()), is there; then *@number is its. */
bool kept_bytes_find(const struct kept_bytes *kept, const void *bytes, size_t count, uint64_t hash,
		     uint32_t *number);

/** Makes room for a string of @count bytes, so that the next add cannot fail. 0 or -ENOMEM. */
int kept_bytes_reserve(struct kept_bytes *kept, size_t count);

/** Copies the string, which is not there yet; returns its number. */
uint32_t kept_bytes_add(struct kept_bytes *kept, const void *bytes, size_t count, uint64_t hash);

/** The copy, which stays. It is aligned to 8 if all strings have multiples of 8 bytes. */
static inline const void *kept_bytes_at(const struct kept_bytes *kept, uint32_t number)
{
	return kept->strings.items[number].bytes;
}

#endif
