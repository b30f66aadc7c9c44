/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Allocates runs of consecutive cells of the flat space of slabs (ebpf/abi/slab.h): first fit, so that the
 * upper slabs become empty; neighbouring free runs are joined. It handles numbers only; bpf_maps has the
 * memory. Not thread-safe.
 */
#ifndef AGENT_TRACING_CELL_ALLOCATOR_H
#define AGENT_TRACING_CELL_ALLOCATOR_H

#include <stdint.h>

#include "lib/base/vector.h"

struct cell_run {
	uint32_t first;
	uint32_t count;
};

VECTOR_DEFINE(cell_run_vector, struct cell_run)

struct cell_allocator {
	/** In ascending order; no two touch. */
	struct cell_run_vector free;
	/** Number of runs that are allocated. */
	uint32_t run_count;
	uint32_t used_cells;
	uint32_t cell_count;
};

/** Cells 1 .. @cell_count - 1 are free; cell 0 means "none" and is never allocated. */
int cell_allocator_init(struct cell_allocator *allocator, uint32_t cell_count);
void cell_allocator_deinit(struct cell_allocator *allocator);

/** Takes the first run of @count (at least 1) cells. -ENOSPC if there is none, -ENOMEM. */
int cell_allocator_take(struct cell_allocator *allocator, uint32_t count, struct cell_run *run);

/** Frees a run exactly as it was taken. Cannot fail. */
void cell_allocator_release(struct cell_allocator *allocator, struct cell_run run);

#endif
