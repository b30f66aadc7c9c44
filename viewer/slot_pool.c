/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/slot_pool.h"

#include <errno.h>
#include <stdlib.h>

enum {
	/* malloc's overhead for a block. */
	BLOCK_OVERHEAD_BYTES = 16,
	BLOCKS_MAX = UINT32_MAX / SLOT_BLOCK - 1,
	SIZE_COUNT = SLOT_MAX_BYTES / SLOT_UNIT_BYTES + 1,
};

_Static_assert((int)SLOT_BLOCK < UINT8_MAX && (int)SLOT_MAX_BYTES <= UINT8_MAX,
	       "the fields of a block hold these");

static size_t block_bytes(size_t slot_bytes)
{
	return sizeof(struct slot_block) + SLOT_BLOCK * slot_bytes;
}

void slot_pool_deinit(struct slot_pool *pool)
{
	for (size_t i = 0; i < pool->blocks.count; i++)
		free(pool->blocks.items[i]);
	slot_block_vector_deinit(&pool->blocks);
	*pool = (struct slot_pool){ 0 };
}

/* The link in a free slot. */
static uint8_t *link_at(struct slot_block *block, uint32_t index)
{
	return block->slots + index * block->slot_bytes;
}

static struct slot_block *make_block(size_t slot_bytes)
{
	struct slot_block *block = calloc(1, block_bytes(slot_bytes));

	if (!block)
		return NULL;
	block->slot_bytes = (uint8_t)slot_bytes;
	block->first_free = 1;
	for (uint32_t i = 0; i + 1 < SLOT_BLOCK; i++)
		*link_at(block, i) = (uint8_t)(i + 2);
	return block;
}

int slot_pool_reserve(struct slot_pool *pool, size_t slot_bytes)
{
	uint32_t *open = &pool->open_blocks[slot_bytes / SLOT_UNIT_BYTES];
	struct slot_block_vector *blocks = &pool->blocks;
	struct slot_block *block;
	int err = 0;

	while (*open < blocks->count && blocks->items[*open] &&
	       (blocks->items[*open]->slot_bytes != slot_bytes ||
		blocks->items[*open]->count == SLOT_BLOCK))
		++*open;
	if (*open < blocks->count && blocks->items[*open])
		return 0;
	if (*open == BLOCKS_MAX)
		return -E2BIG;
	block = make_block(slot_bytes);
	if (!block)
		return -ENOMEM;
	if (*open < blocks->count)
		blocks->items[*open] = block;
	else
		err = slot_block_vector_push(blocks, block);
	if (err)
		free(block);
	else
		pool->bytes += block_bytes(slot_bytes) + BLOCK_OVERHEAD_BYTES;
	return err;
}

uint32_t slot_pool_take(struct slot_pool *pool, size_t slot_bytes)
{
	uint32_t number = pool->open_blocks[slot_bytes / SLOT_UNIT_BYTES];
	struct slot_block *block = pool->blocks.items[number];
	uint32_t index = block->first_free - 1U;

	block->first_free = *link_at(block, index);
	block->count++;
	pool->count++;
	return number * SLOT_BLOCK + index;
}

/* No block before @number is open for slots of any size from @first to @last, in units. */
static void limit_open(struct slot_pool *pool, uint32_t number, size_t first, size_t last)
{
	for (size_t i = first; i <= last; i++)
		if (pool->open_blocks[i] > number)
			pool->open_blocks[i] = number;
}

void slot_pool_free(struct slot_pool *pool, uint32_t id)
{
	struct slot_block_vector *blocks = &pool->blocks;
	uint32_t number = id / SLOT_BLOCK, index = id % SLOT_BLOCK;
	struct slot_block *block = blocks->items[number];
	size_t size = block->slot_bytes / SLOT_UNIT_BYTES;

	*link_at(block, index) = block->first_free;
	block->first_free = (uint8_t)(index + 1);
	pool->count--;
	limit_open(pool, number, size, size);
	if (--block->count)
		return;
	pool->bytes -= block_bytes(block->slot_bytes) + BLOCK_OVERHEAD_BYTES;
	free(block);
	blocks->items[number] = NULL;
	while (blocks->count && !blocks->items[blocks->count - 1])
		blocks->count--;
	if (number > blocks->count)
		number = (uint32_t)blocks->count;
	/* A block of any size can be here now. */
	limit_open(pool, number, 0, SIZE_COUNT - 1);
}
