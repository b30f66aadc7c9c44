/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free runs are in a sorted array. With tens of thousands of tables, first fit checks tens of thousands of
 * runs at worst, in some 20 us, which is little compared with writing a table.
 */
#include "agent/tracing/cell_allocator.h"

#include <assert.h>

int cell_allocator_init(struct cell_allocator *allocator, uint32_t cell_count)
{
	struct cell_allocator empty = { .cell_count = cell_count };
	int err;

	if (cell_count > 1) {
		err = cell_run_vector_push(&empty.free, (struct cell_run){ 1, cell_count - 1 });
		if (err)
			return err;
	}
	*allocator = empty;
	return 0;
}

void cell_allocator_deinit(struct cell_allocator *allocator)
{
	cell_run_vector_deinit(&allocator->free);
	*allocator = (struct cell_allocator){ 0 };
}

int cell_allocator_take(struct cell_allocator *allocator, uint32_t count, struct cell_run *run)
{
	int err;

	assert(count > 0);
	/*
	 * Between two free runs lies a used one, so there are at most run_count + 1 of them: room
	 * for one more now means that releasing never needs memory.
	 */
	err = cell_run_vector_reserve(&allocator->free, (size_t)allocator->run_count + 2);
	if (err)
		return err;
	for (size_t i = 0; i < allocator->free.count; i++) {
		struct cell_run *candidate = &allocator->free.items[i];

		if (candidate->count < count)
			continue;
		*run = (struct cell_run){ candidate->first, count };
		candidate->first += count;
		candidate->count -= count;
		if (!candidate->count)
			cell_run_vector_remove(&allocator->free, i);
		allocator->run_count++;
		allocator->used_cells += count;
		return 0;
	}
	return -ENOSPC;
}

/* Index of the first free run behind @cell. */
static size_t first_free_behind(const struct cell_allocator *allocator, uint32_t cell)
{
	size_t low = 0, high = allocator->free.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (allocator->free.items[middle].first > cell)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void cell_allocator_release(struct cell_allocator *allocator, struct cell_run run)
{
	struct cell_run_vector *free_runs = &allocator->free;
	size_t i = first_free_behind(allocator, run.first);
	struct cell_run *before = i > 0 ? &free_runs->items[i - 1] : NULL;
	struct cell_run *behind = i < free_runs->count ? &free_runs->items[i] : NULL;

	assert(run.count > 0 && run.first > 0);
	assert(!before || before->first + before->count <= run.first);
	assert(!behind || run.first + run.count <= behind->first);
	allocator->run_count--;
	allocator->used_cells -= run.count;
	if (before && before->first + before->count != run.first)
		before = NULL;
	if (behind && run.first + run.count != behind->first)
		behind = NULL;

	if (before && behind) {
		before->count += run.count + behind->count;
		cell_run_vector_remove(free_runs, i);
	} else if (before) {
		before->count += run.count;
	} else if (behind) {
		behind->first = run.first;
		behind->count += run.count;
	} else {
		int err = cell_run_vector_insert(free_runs, i, run);

		assert(!err);
		(void)err;
	}
}
