/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the last of many blocks that begins at or below an address, by a static tree. Its lowest
 * level has the first address of each block; every other level has each 16th number of the level
 * below. A level is padded to a multiple of 16 with the highest number; the top level has at most
 * 16. 16 numbers fill one cache line and are compared at once, so a search among 30,000 blocks
 * reads four lines, of which all but the last stay in the first-level cache. Levels are stored one
 * after the other, the top first, as little endian numbers of 32 bits at any alignment. They are
 * not trusted: damage leads to a wrong block and no more.
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
	/** Enough for 2^32 blocks. */
	ADDRESS_INDEX_LEVELS_MAX = 8,
};

VECTOR_DEFINE(offset_vector, uint32_t)

/** An index in borrowed memory. */
struct address_index {
	/** The numbers of each level, the top first, and how many of them are not padding. */
	const uint8_t *levels[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t counts[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t level_count;
};

/** Bytes of an index of @count blocks. */
uint64_t address_index_bytes(uint32_t count);

/** @bytes has address_index_bytes(@count) bytes. */
void address_index_init(struct address_index *index, const void *bytes, uint32_t count);

/**
 * The block for @offset, as a number below the index's count, which is not 0; block 0 if @offset is
 * below all blocks.
 */
uint32_t address_index_find(const struct address_index *index, uint32_t offset);

/** The start of block @number, which is below the index's count. */
static inline uint32_t address_index_at(const struct address_index *index, uint32_t number)
{
	uint32_t address;

	memcpy(&address, index->levels[index->level_count - 1] + (size_t)number * sizeof(address),
	       sizeof(address));
	return le32toh(address);
}

/** Makes the levels from ascending @addresses. The numbers of @index are little endian. -ENOMEM. */
int address_index_build(const struct offset_vector *addresses, struct offset_vector *index);

#endif
