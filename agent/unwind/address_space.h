/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a stopped process or a core file has mapped to run, made by the agent's own code: which file
 * is where (executable_cache), and the unwind rows of each (executable_file). The tools add the
 * mappings, then walk over the tables. Owned and used by one thread.
 *
 * Executables are shared between address spaces by the executable_cache. Rows are made when a walk
 * first needs them.
 */
#ifndef AGENT_UNWIND_ADDRESS_SPACE_H
#define AGENT_UNWIND_ADDRESS_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/first_unwinder.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/host/remote_memory.h"

VECTOR_DEFINE(space_rows, struct mapping_row)
VECTOR_DEFINE(space_executables, struct executable *)

struct address_space {
	struct executable_cache *executables;
	/** By start: mappings have to be added in that order. */
	struct space_rows rows;
	/** One reference for each row of a file. */
	struct space_executables referenced;
	/** Executable id -> struct stack_deltas. */
	struct hash_map deltas;
};

/** A mapping; @start to @end has the bytes of the file from @offset on. */
struct space_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	/** What outputs call it. */
	const char *path;
};

/** @languages are looked for in the files (interpreters/registry.h), 0: none. -ENOMEM. */
int address_space_init(struct address_space *space, uint32_t languages);
void address_space_deinit(struct address_space *space);

/**
 * Adds a mapping of the open file @fd, which is taken over, also if this fails. What is no ELF file
 * becomes an anonymous mapping. -EBADMSG: not above the last mapping; or as executable_cache_open()
 * and executable_mapping_bias() say.
 */
int address_space_add_file(struct address_space *space, const struct space_mapping *mapping,
			   int fd);

/** Adds a mapping of the vDSO, an image that is read from @memory. As above. */
int address_space_add_vdso(struct address_space *space, const struct space_mapping *mapping,
			   struct remote_memory *memory);

/** Adds a mapping that is no file's: @executable_id is an enum special_executable. */
int address_space_add_special(struct address_space *space, const struct space_mapping *mapping,
			      uint64_t executable_id);

/** For walks; borrowed until a mapping is added. */
struct first_tables address_space_tables(struct address_space *space);

/**
 * Reads text and constants from the mapped file, for who has no other copy; -EFAULT outside of what
 * nobody writes to.
 */
int address_space_read_file(const struct address_space *space, uint64_t address, void *bytes,
			    size_t size);

/** The file of an id of this address space; NULL for others. Borrowed. */
struct binary *address_space_binary(const struct address_space *space, uint64_t executable_id);

#endif
