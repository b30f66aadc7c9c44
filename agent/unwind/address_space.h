/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The executable mappings of a stopped process or a core file, made by the agent's own code: the file of each
 * mapping (executable_cache), and the unwind rows of each file (executable_file). The tools add the mappings
 * and then unwind with the tables. Owned and used by one thread.
 *
 * Address spaces share executables by the executable_cache. Rows are made when an unwind first needs them.
 */
#ifndef AGENT_UNWIND_ADDRESS_SPACE_H
#define AGENT_UNWIND_ADDRESS_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/user_unwinder.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/host/remote_memory.h"

VECTOR_DEFINE(space_rows, struct mapping_row)
VECTOR_DEFINE(space_executables, struct executable *)

struct address_space {
	struct executable_cache *executables;
	/** Sorted by start; mappings must be added in that order. */
	struct space_rows rows;
	/** One reference for each row of a file. */
	struct space_executables referenced;
	/** Executable id -> struct stack_deltas. */
	struct hash_map deltas;
};

/** A mapping: the file's bytes from offset on are at start to end. */
struct space_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	/** Path for outputs. */
	const char *path;
};

/** Runtimes of @languages are detected in the files (interpreters/registry.h); 0: none. -ENOMEM. */
int address_space_init(struct address_space *space, uint32_t languages);
void address_space_deinit(struct address_space *space);

/**
 * Adds a mapping of the open file @fd, which is taken over, also on failure. A file that is no ELF file becomes
 * an anonymous mapping. -EBADMSG: not above the last mapping; or an error of executable_cache_open() or
 * executable_mapping_bias().
 */
int address_space_add_file(struct address_space *space, const struct space_mapping *mapping,
			   int fd);

/** Adds a mapping of the vDSO, whose image is read from @memory. Errors as above. */
int address_space_add_vdso(struct address_space *space, const struct space_mapping *mapping,
			   struct remote_memory *memory);

/** Adds a mapping without a file; @executable_id is an enum special_executable. */
int address_space_add_special(struct address_space *space, const struct space_mapping *mapping,
			      uint64_t executable_id);

/** The mappings of an address space. */
struct space_mappings {
	struct space_rows rows;
	struct space_executables referenced;
};

/** Takes all mappings out, so that others can be added. Files that are in both keep their ids and rows. */
struct space_mappings address_space_take_mappings(struct address_space *space);
/** Frees what address_space_take_mappings() has returned for @space. */
void address_space_release_mappings(struct address_space *space, struct space_mappings *mappings);

/**
 * Looks for runtimes in all files and makes their rows now, in up to @thread_count threads, so that no unwind waits for them.
 * Files that fail are tried again then.
 */
void address_space_prepare(struct address_space *space, uint32_t thread_count);

/** The tables for unwinding; borrowed until a mapping is added. */
struct user_tables address_space_tables(struct address_space *space);

/**
 * Reads text and constants from the mapped file, for callers without another copy; -EFAULT outside of segments
 * that are not writable.
 */
int address_space_read_file(const struct address_space *space, uint64_t address, void *bytes,
			    size_t size);

/** The binary of an id in this address space; NULL for other ids. Borrowed. */
struct binary *address_space_binary(const struct address_space *space, uint64_t executable_id);

#endif
