/* SPDX-License-Identifier: Apache-2.0 */
/** The address space of a live process: its memory, and what unwinds need of the files that it maps. */
#ifndef AGENT_UNWIND_PROCESS_SPACE_H
#define AGENT_UNWIND_PROCESS_SPACE_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/unwind/address_space.h"
#include "lib/host/remote_memory.h"

/**
 * Reads the mappings of @pid, and finds runtimes of @languages in their files (address_space_init()). Files that cannot be
 * used are logged and left out. The caller deinits both, also on failure: they are all zero before. -ESRCH, -ENOMEM.
 */
int process_space_read(pid_t pid, uint32_t languages, struct process_memory *memory,
		       struct address_space *space);

/** Reads the mappings anew. After a failure @space has those that it had. */
int process_space_update(pid_t pid, struct process_memory *memory, struct address_space *space);

#endif
