/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Slots with ids, in blocks. The slots of a block have one size; a pool has blocks of several sizes. Slots do not move. The lowest free
 * id of a size is taken first, so that blocks get empty when there are fewer slots; empty blocks are freed. Not thread-safe, but slots
 * may be read through a copy of the list of blocks while others are taken.
 */
#ifndef VIEWER_SLOT_POOL_H
#define VIEWER_SLOT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

enum {
	SLOT_BLOCK = 128,
	/** Slots have a multiple of this size. */
	SLOT_UNIT_BYTES = 2,
	SLOT_MAX_BYTES = 64,
};

struct slot_block {
	uint8_t slot_bytes;
	/** The number of slots that are taken. */
	uint8_t count;
	/** The index of the first free slot, plus 1; 0: there is none. A free slot begins with the same for the next one. */
	uint8_t first_free;
	uint8_t slots[] __attribute__((aligned(8)));
};

/** Blocks without slots are NULL; the last one has slots. */
VECTOR_DEFINE(slot_block_vector, struct slot_block *)

/** All bytes zero is an empty pool. */
struct slot_pool {
	struct slot_block_vector blocks;
	/** By the size of slots, in units: no block before this one has a free slot of that size. */
	uint32_t open_blocks[SLOT_MAX_BYTES / SLOT_UNIT_BYTES + 1];
	/** Slots that are taken. */
	uint32_t count;
	/** Allocated memory. */
	size_t bytes;
};

void slot_pool_deinit(struct slot_pool *pool);

/** Makes sure that there is a free slot of this size. -ENOMEM, -E2BIG: no id is left. */
int slot_pool_reserve(struct slot_pool *pool, size_t slot_bytes);

/** Takes a slot, which is reserved. Its content is undefined. */
uint32_t slot_pool_take(struct slot_pool *pool, size_t slot_bytes);

void slot_pool_free(struct slot_pool *pool, uint32_t id);

/** The block of the slot with @id. */
static inline struct slot_block *slot_block_of(struct slot_block *const *blocks, uint32_t id)
{
	return blocks[id / SLOT_BLOCK];
}

/** The slot with @id, which is taken. */
static inline void *slot_at(struct slot_block *const *blocks, uint32_t id)
{
	struct slot_block *block = slot_block_of(blocks, id);

	return block->slots + id % SLOT_BLOCK * block->slot_bytes;
}

/** All ids are below this. */
static inline uint32_t slot_pool_limit(const struct slot_pool *pool)
{
	return (uint32_t)pool->blocks.count * SLOT_BLOCK;
}

#endif
