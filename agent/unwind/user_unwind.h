/* SPDX-License-Identifier: Apache-2.0 */
/**
 * agent/unwind unwinds user stacks in user space: of deferred samples, core files and stopped processes. All use
 * the kernel side's own unwinder (ebpf/host).
 *
 * A user_unwind presents tables in user memory to that unwinder as if they were in slabs. Nothing is copied: each
 * table is one slab or several neighbouring ones. The tables were checked when they were made, and the unwinder
 * respects their counts, so a shorter slab is never read past its end. One thread at a time.
 */
#ifndef AGENT_UNWIND_USER_UNWIND_H
#define AGENT_UNWIND_USER_UNWIND_H

#include "agent/processes/user_unwinder.h"
#include "ebpf/host/emulated_unwind.h"

struct user_unwind;

/** Copies @size bytes of the process's memory; nonzero if not all can be read. */
typedef int user_unwind_read_function(void *context, uint64_t address, void *bytes, size_t size);

/** -ENOMEM. */
int user_unwind_create(struct user_unwind **unwind);
void user_unwind_destroy(struct user_unwind *unwind);

/**
 * Unwinds from @start, in which it sets the cells of the mapping table and the runtime table, and fills @trace.
 * -E2BIG: the tables do not fit the space of slabs. Everything is borrowed for the call.
 */
int user_unwind_run(struct user_unwind *unwind, const struct user_tables *tables,
		    user_unwind_read_function *read, void *read_context,
		    struct emulated_start *start, struct emulated_trace *trace);

#endif
