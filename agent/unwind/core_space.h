/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The address space of a core file: its mappings, from NT_FILE or from a copy of /proc/PID/maps that was taken
 * beside it, and its memory. Memory that was not dumped, such as text, is read from the files.
 *
 * A file that differs from the one that was mapped is left out. The two are compared as far as the dump has the
 * beginning of the file, with its build id.
 */
#ifndef AGENT_UNWIND_CORE_SPACE_H
#define AGENT_UNWIND_CORE_SPACE_H

#include "agent/unwind/address_space.h"
#include "lib/host/core_file.h"
#include "lib/host/proc_maps.h"

struct core_space {
	/** Reads by core_space_read(). */
	struct remote_memory memory;
	struct address_space space;
	/** Borrowed. */
	const struct core_file *core;
};

/**
 * @maps may be NULL; otherwise it replaces NT_FILE. @root is the prefix of files' paths; "" for none. Files
 * that can't be used are logged and left out. @languages as in address_space_init(). -ENOMEM, -E2BIG, -EBADMSG.
 * Both are borrowed for the life of the space.
 */
int core_space_init(struct core_space *space, struct core_file *core, const struct proc_maps *maps,
		    const char *root, uint32_t languages);
void core_space_deinit(struct core_space *space);

/** A user_unwind_read_function; @context is the struct core_space. */
int core_space_read(void *context, uint64_t address, void *bytes, size_t size);

#endif
