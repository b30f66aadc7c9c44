/* SPDX-License-Identifier: Apache-2.0 */
/**
 * agent/unwind unwinds user stacks in user space: of deferred samples, core files and stopped processes. All use
 * the kernel side's own unwinder (ebpf/host).
 *
 * A user_walk presents tables in user memory to that unwinder as if they were in slabs. Nothing is copied: each
 * table is one slab or several neighbouring ones. The tables were checked when they were made, and the unwinder
 * respects their counts, so a shorter slab is never read past its end. One thread at a time.
 */
#ifndef AGENT_UNWIND_USER_WALK_H
#define AGENT_UNWIND_USER_WALK_H

#include "agent/processes/user_unwinder.h"
#include "ebpf/host/emulated_walk.h"

struct user_walk;

/** Copies @size bytes of the process's memory; nonzero if not all can be read. */
typedef int user_walk_read_function(void *context, uint64_t address, void *bytes, size_t size);

/** -ENOMEM. */
int user_walk_create(struct user_walk **walk);
void user_walk_destroy(struct user_walk *walk);

/**
 * Unwinds from @start, in which it sets the cells of the mapping table and the runtime table, and fills @trace.
 * -E2BIG: the tables do not fit the space of slabs. Everything is borrowed for the call.
 */
int user_walk_run(struct user_walk *walk, const struct first_tables *tables,
		  user_walk_read_function *read, void *read_context, struct emulated_start *start,
		  struct emulated_trace *trace);

#endif
