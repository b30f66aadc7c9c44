/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads an executable file: its identity (struct binary), its segments and its stack deltas. Files belong to
 * the processes under profile and may change while they are read.
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
 * Reads the headers of @fd: fills *@binary except executable_id, fd and path, and *@segments with the program
 * headers alone (freed by elf_image_deinit()). If the file has facts about itself, *@facts is filled and the
 * binary points to it. -EOPNOTSUPP if it is no ELF file for this kind of machine, or has no segments;
 * -EBADMSG if it is damaged, or an error of the file system.
 */
int executable_file_identify(int fd, struct binary *binary, struct program_facts *facts,
			     struct elf_image *segments);

/** The origin of a file, by which its separate debug file is searched. Strings are borrowed. */
struct executable_origin {
	/** "/proc", or a test's folder; NULL: debug files are not looked for. */
	const char *proc_root;
	/** A process that maps the file or did so; 0: none. */
	pid_t pid;
	/** Path in that process's own root. */
	const char *path;
};

/** The limits of a load. */
struct load_limits {
	/** Limit of work, as the number of .eh_frame bytes that would take as long. */
	uint64_t max_work_bytes;
	/**
	 * If there are more bytes of code that no table describes, that code is left out, unless its rows are
	 * in the disk cache.
	 */
	uint64_t max_code_bytes;
};

/**
 * Loads the deltas of @fd, from @cache (may be NULL) if they are there. For a file with much code that its own
 * tables do not describe, the tables of its debug file are used too. @origin may be NULL. The caller deinits
 * the deltas. *@lacks_code (may be NULL): code was left out. -ENOENT: the file has neither unwind tables nor
 * code; -EAGAIN: it is more work than @limits allow; -EBADMSG, -E2BIG, -ENOMEM, or an error of the file system.
 */
int executable_file_load(int fd, const struct executable_origin *origin, struct delta_cache *cache,
			 const struct load_limits *limits, struct stack_deltas *deltas,
			 bool *lacks_code);

/** Makes deltas without rules for any address, for files without usable tables. 0 or -ENOMEM. */
int executable_file_empty_deltas(struct stack_deltas *deltas);

/**
 * Makes a sealed file in memory with a copy of @bytes; the caller owns *@fd. For images without a file, such as
 * the vDSO.
 */
int executable_file_from_memory(const char *name, const void *bytes, size_t size, int *fd);

#endif
