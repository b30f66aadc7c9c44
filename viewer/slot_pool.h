/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Slots of one size with ids, in blocks. Slots do not move. The lowest free id is taken first, so that blocks get empty when there
 * are fewer slots; empty blocks are freed. Not thread-safe, but slots may be read through a copy of the list of blocks while others
 * are taken.
 */
#ifndef VIEWER_SLOT_POOL_H
#define VIEWER_SLOT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

enum { SLOT_BLOCK = 512 };

struct slot_block {
	/** The number of slots that are taken. */
	uint32_t count;
	/** The index of the first free slot, plus 1; 0: there is none. A free slot begins with the same for the next one. */
	uint32_t first_free;
	uint8_t slots[] __attribute__((aligned(8)));
};

/** Blocks without slots are NULL; the last one has slots. */
VECTOR_DEFINE(slot_block_vector, struct slot_block *)

/** Initialize with zeros and set slot_bytes, a multiple of 4. */
struct slot_pool {
	size_t slot_bytes;
	struct slot_block_vector blocks;
	/** No block before this one has a free slot. */
	size_t open_block;
	/** Slots that are taken. */
	uint32_t count;
	/** Allocated memory. */
	size_t bytes;
};

void slot_pool_deinit(struct slot_pool *pool);

/** Makes sure that there is a free slot. -ENOMEM, -E2BIG: no id is left. */
int slot_pool_reserve(struct slot_pool *pool);

/** Takes a slot, which is reserved. Its content is undefined. */
uint32_t slot_pool_take(struct slot_pool *pool);

void slot_pool_free(struct slot_pool *pool, uint32_t id);

/** The slot with @id, which is taken. */
static inline void *slot_at(struct slot_block *const *blocks, size_t slot_bytes, uint32_t id)
{
	return blocks[id / SLOT_BLOCK]->slots + id % SLOT_BLOCK * slot_bytes;
}

/** All ids are below this. */
static inline uint32_t slot_pool_limit(const struct slot_pool *pool)
{
	return (uint32_t)pool->blocks.count * SLOT_BLOCK;
}

#endif
