/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The flat space of cells over BPF maps (ebpf/abi/slab.h): a run of cells may cross from one slab
 * into the next. A slab is an inner map of its own; it comes into being with the first table in it,
 * is filled before the programs can see it, and goes when its last table goes. Slab 0 stays.
 *
 * Knows nothing of what the tables mean. Owned by one thread at a time.
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

/** Closes the slabs. The map keeps those that are in it. */
void slab_space_deinit(struct slab_space *space);

/**
 * Takes @count (at least 1) consecutive cells, has @fill write them, and makes them visible to the
 * programs. New slabs take a grace period each (15-30 ms before Linux 6.19). -ENOSPC: no room.
 */
int slab_space_add(struct slab_space *space, uint32_t count, slab_space_fill fill, void *context,
		   struct cell_run *run);

/** Gives cells back that no program can be reading any more. */
void slab_space_remove(struct slab_space *space, struct cell_run run);

/** Waits until every program that was running at the call has ended. 0 or -errno. */
int slab_space_wait_for_readers(struct slab_space *space);

#endif
