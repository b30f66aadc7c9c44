/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the agent reads out of an executable file: who it is (binary), where its segments lie, and
 * its stack deltas. Files belong to the processes under profile and may change while they are read.
 */
#ifndef AGENT_PROCESSES_EXECUTABLE_FILE_H
#define AGENT_PROCESSES_EXECUTABLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/elf/elf_image.h"
#include "lib/model/binary.h"
#include "lib/model/stack_deltas.h"

struct delta_cache;

/**
 * Reads the headers of @fd: fills *@binary but for executable_id, fd and path, and *@segments with
 * the program headers alone (freed by elf_image_deinit()). If the file says something of itself, *@facts is filled
 * and the binary points to it. -EOPNOTSUPP for what is no ELF file of
 * this kind of machine, -EBADMSG for a damaged one, others as the file system says.
 */
int executable_file_identify(int fd, struct binary *binary, struct program_facts *facts,
			     struct elf_image *segments);

/** Where a file comes from, and so where its separate debug file may be. Strings are borrowed. */
struct executable_origin {
	/** "/proc", or a test's; NULL: debug files are not looked for. */
	const char *proc_root;
	/** A process that has mapped the file, or had; 0: none. */
	pid_t pid;
	/** In that process's own root. */
	const char *path;
};

/** The limits of a load. */
struct load_limits {
	/** As many bytes of .eh_frame take as long. */
	uint64_t max_work_bytes;
	/** Code that no table describes is left out if there is more of it, unless its rows are in the disk cache. */
	uint64_t max_code_bytes;
};

/**
 * The deltas of @fd, out of @cache (may be NULL) if they are there; of a file with much code that
 * its own tables do not describe, with those of its debug file. @origin may be NULL. The caller
 * deinits the deltas. *@lacks_code (may be NULL): code was left out. -ENOENT: the file has neither unwind tables nor code; -EAGAIN: it is more work
 * than @limits allow; -EBADMSG, -E2BIG, -ENOMEM, or as the file system says.
 */
int executable_file_load(int fd, const struct executable_origin *origin, struct delta_cache *cache,
			 const struct load_limits *limits, struct stack_deltas *deltas,
			 bool *lacks_code);

/** Deltas that say nothing about any address, for files without usable tables. 0 or -ENOMEM. */
int executable_file_empty_deltas(struct stack_deltas *deltas);

/**
 * A sealed copy of @bytes as a file in memory: the caller owns *@fd. For images that have no file,
 * such as the vDSO.
 */
int executable_file_from_memory(const char *name, const void *bytes, size_t size, int *fd);

#endif
