/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which of many blocks begins last at or below an address: a static tree. Its lowest level has the first address of
 * each block, every other one each 16th of the level below; a level is filled up to a multiple of 16 with the highest
 * number, the top has at most 16. 16 numbers are one line of the cache and are compared at once, so that a search
 * among 30,000 blocks reads four lines, of which all but the last stay in the first cache. Levels stand one behind the
 * other, the top first, as numbers of 32 bits in little endian at any alignment. They are believed in nothing: damaged
 * ones lead to a wrong block.
 */
#ifndef SYMBOLS_CACHE_ADDRESS_INDEX_H
#define SYMBOLS_CACHE_ADDRESS_INDEX_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbols/cache/varint.h"

enum {
	ADDRESS_INDEX_FANOUT = 16,
	/** Of 2^32 blocks. */
	ADDRESS_INDEX_LEVELS_MAX = 8,
};

VECTOR_DEFINE(offset_vector, uint32_t)

/** Where an index lies in memory: borrowed. */
struct address_index {
	/** The top first. Of each level its numbers, and how many of them count. */
	const uint8_t *levels[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t counts[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t level_count;
};

/** Bytes of an index of @count blocks. */
uint64_t address_index_bytes(uint32_t count);

/** @bytes: as many as the index has. */
void address_index_init(struct address_index *index, const void *bytes, uint32_t count);

/** The number of the block for @offset, below the index's count, which is not 0; the first one if it lies below all. */
uint32_t address_index_find(const struct address_index *index, uint32_t offset);

/** Where block @number begins; it is below the index's count. */
static inline uint32_t address_index_at(const struct address_index *index, uint32_t number)
{
	uint32_t address;

	memcpy(&address, index->levels[index->level_count - 1] + (size_t)number * sizeof(address),
	       sizeof(address));
	return le32toh(address);
}

/** Makes the levels of @addresses, which rise. Numbers of @index are in little endian. -ENOMEM. */
int address_index_build(const struct offset_vector *addresses, struct offset_vector *index);

#endif
