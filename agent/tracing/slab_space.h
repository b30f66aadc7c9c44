/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The flat space of cells over BPF maps (ebpf/abi/slab.h): a run of cells may cross from one slab into the
 * next. A slab is an inner map. It is created with its first table, filled before the programs can see it, and
 * removed with its last table. Slab 0 stays.
 *
 * It does not know the tables' content. Owned by one thread at a time.
 */
#ifndef AGENT_TRACING_SLAB_SPACE_H
#define AGENT_TRACING_SLAB_SPACE_H

#include <stdint.h>

#include "agent/tracing/cell_allocator.h"
#include "ebpf/abi/slab.h"

struct slab;

struct slab_space {
	int outer_fd;
	struct cell_allocator allocator;
	struct slab *slabs;
	uint32_t slab_count;
};

/** Writes a table into @cells, which are mapped for the call only. */
typedef void (*slab_space_fill)(void *context, struct cell *cells, struct cell_run run);

/** @outer_fd is the map `slabs`, of @slab_count elements; borrowed. 0 or -errno. */
int slab_space_init(struct slab_space *space, int outer_fd, uint32_t slab_count);

/** Closes the slabs. Slabs in the map stay there. */
void slab_space_deinit(struct slab_space *space);

/**
 * Allocates @count (at least 1) consecutive cells, calls @fill to write them, and makes them visible to the
 * programs. Each new slab takes a grace period (15-30 ms before Linux 6.19). -ENOSPC: no free cells.
 */
int slab_space_add(struct slab_space *space, uint32_t count, slab_space_fill fill, void *context,
		   struct cell_run *run);

/** Frees cells that no program can be reading any more. */
void slab_space_remove(struct slab_space *space, struct cell_run run);

/** Waits until every program that was running at the call has ended. 0 or -errno. */
int slab_space_wait_for_readers(struct slab_space *space);

#endif
