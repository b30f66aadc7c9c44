/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/decode_budget.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

enum {
	/* Limit of the stack for unpacking; a level takes about 1 KB. */
	STACK_MAX_BYTES = 128 << 10,
	/* Overhead of malloc() per block. */
	BLOCK_BYTES = 8,
	/*
	 * All allocations may have this many times the memory limit: lists of a message's fields
	 * are allocated and freed at each level.
	 */
	TOTAL_FACTOR = 8,
};

static void *budget_alloc(void *context, size_t bytes)
{
	struct decode_budget *budget = context;
	const char *here = __builtin_frame_address(0);
	size_t used;
	void *block;

	if (budget->stack - here > STACK_MAX_BYTES || bytes > budget->left ||
	    bytes > budget->total_left)
		return NULL;
	budget->total_left -= bytes;
	block = malloc(bytes);
	if (!block)
		return NULL;
	used = malloc_usable_size(block) + BLOCK_BYTES;
	budget->left -= used < budget->left ? used : budget->left;
	return block;
}

static void budget_free(void *context, void *block)
{
	struct decode_budget *budget = context;

	if (block)
		budget->left += malloc_usable_size(block) + BLOCK_BYTES;
	free(block);
}

void decode_budget_init(struct decode_budget *budget, size_t bytes)
{
	*budget = (struct decode_budget){
		.allocator = { budget_alloc, budget_free, budget },
		.left = bytes,
		.total_left = bytes > SIZE_MAX / TOTAL_FACTOR ? SIZE_MAX : bytes * TOTAL_FACTOR,
		.stack = __builtin_frame_address(0),
	};
}
