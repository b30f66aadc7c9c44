/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/slot_pool.h"

#include <errno.h>
#include <stdlib.h>

enum {
	/* malloc's overhead for a block. */
	BLOCK_OVERHEAD_BYTES = 16,
	BLOCKS_MAX = UINT32_MAX / SLOT_BLOCK - 1,
};

static size_t block_bytes(const struct slot_pool *pool)
{
	return sizeof(struct slot_block) + SLOT_BLOCK * pool->slot_bytes;
}

void slot_pool_deinit(struct slot_pool *pool)
{
	for (size_t i = 0; i < pool->blocks.count; i++)
		free(pool->blocks.items[i]);
	slot_block_vector_deinit(&pool->blocks);
	*pool = (struct slot_pool){ .slot_bytes = pool->slot_bytes };
}

/* The link in a free slot. */
static uint32_t *link_at(const struct slot_pool *pool, struct slot_block *block, uint32_t index)
{
	return (uint32_t *)(block->slots + index * pool->slot_bytes);
}

static struct slot_block *make_block(const struct slot_pool *pool)
{
	struct slot_block *block = calloc(1, block_bytes(pool));

	if (!block)
		return NULL;
	block->first_free = 1;
	for (uint32_t i = 0; i + 1 < SLOT_BLOCK; i++)
		*link_at(pool, block, i) = i + 2;
	return block;
}

int slot_pool_reserve(struct slot_pool *pool)
{
	struct slot_block_vector *blocks = &pool->blocks;
	struct slot_block *block;
	int err = 0;

	while (pool->open_block < blocks->count && blocks->items[pool->open_block] &&
	       blocks->items[pool->open_block]->count == SLOT_BLOCK)
		pool->open_block++;
	if (pool->open_block < blocks->count && blocks->items[pool->open_block])
		return 0;
	if (pool->open_block == BLOCKS_MAX)
		return -E2BIG;
	block = make_block(pool);
	if (!block)
		return -ENOMEM;
	if (pool->open_block < blocks->count)
		blocks->items[pool->open_block] = block;
	else
		err = slot_block_vector_push(blocks, block);
	if (err)
		free(block);
	else
		pool->bytes += block_bytes(pool) + BLOCK_OVERHEAD_BYTES;
	return err;
}

uint32_t slot_pool_take(struct slot_pool *pool)
{
	struct slot_block *block = pool->blocks.items[pool->open_block];
	uint32_t index = block->first_free - 1;

	block->first_free = *link_at(pool, block, index);
	block->count++;
	pool->count++;
	return (uint32_t)pool->open_block * SLOT_BLOCK + index;
}

void slot_pool_free(struct slot_pool *pool, uint32_t id)
{
	struct slot_block_vector *blocks = &pool->blocks;
	size_t number = id / SLOT_BLOCK;
	struct slot_block *block = blocks->items[number];
	uint32_t index = id % SLOT_BLOCK;

	*link_at(pool, block, index) = block->first_free;
	block->first_free = index + 1;
	pool->count--;
	if (number < pool->open_block)
		pool->open_block = number;
	if (--block->count)
		return;
	free(block);
	blocks->items[number] = NULL;
	pool->bytes -= block_bytes(pool) + BLOCK_OVERHEAD_BYTES;
	while (blocks->count && !blocks->items[blocks->count - 1])
		blocks->count--;
	if (pool->open_block > blocks->count)
		pool->open_block = blocks->count;
}
