/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads an executable file: its identity (struct binary), its segments, its stack deltas, and whether it is a runtime of a
 * language. Files belong to the processes under profile and may change while they are read. The agent leaves this to a
 * process that can do nothing else (elf_hosts.h); -dump, tools and tests call it themselves.
 */
#ifndef AGENT_RUNTIMES_EXECUTABLE_FILE_H
#define AGENT_RUNTIMES_EXECUTABLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash128.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_image.h"
#include "lib/model/binary.h"
#include "lib/model/stack_deltas.h"

/**
 * Reads the headers of @fd: fills *@binary except executable_id, fd and path, and *@segments with the program
 * headers alone (freed by elf_image_deinit()). If the file has facts about itself, *@facts is filled and the
 * binary points to it. -EOPNOTSUPP if it is no ELF file for this kind of machine, or has no segments;
 * -EBADMSG if it is damaged, or an error of the file system.
 */
int executable_file_identify(int fd, struct binary *binary, struct program_facts *facts,
			     struct elf_image *segments);

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

/** Functions and folders that a load uses while it runs. */
struct load_helper {
	/** Where the separate debug file is looked for; NULL: nowhere. */
	const struct debug_file_search *search;
	/** Loads the deltas that were stored with @key; the caller owns them. -ENOENT. NULL: there are none. */
	int (*load_cached)(void *context, struct hash128 key, struct stack_deltas *deltas);
	void *context;
};

/** Rows of a file. The caller deinits the deltas. */
struct load_result {
	struct stack_deltas deltas;
	/** Code was left out. */
	bool lacks_code;
	/** The deltas are new, and may be stored with this key. */
	bool is_new;
	struct hash128 key;
};

/**
 * Loads the deltas of @fd. For a file with much code that its own tables do not describe, the tables of its debug file
 * are used too. @helper may be NULL. -ENOENT: the file has neither unwind tables nor code; -EAGAIN: it is more work than
 * @limits allow; -EBADMSG, -E2BIG, -ENOMEM, or an error of the file system.
 */
int executable_file_load(int fd, const struct load_helper *helper, const struct load_limits *limits,
			 struct load_result *result);

/**
 * Makes the rows of the copy of code in @fd, which has @size bytes and was copied from @address of a process
 * (stackdeltas/copied_code.h). The caller deinits @deltas. -EINVAL for a range that no copy has; -EBADMSG if the file is
 * shorter; -E2BIG, -ENOMEM.
 */
int executable_file_analyse_copy(int fd, uint64_t address, uint64_t size,
				 struct stack_deltas *deltas);

/** Makes deltas without rules for any address, for files without usable tables. 0 or -ENOMEM. */
int executable_file_empty_deltas(struct stack_deltas *deltas);

/**
 * Makes a sealed file in memory with a copy of @bytes; the caller owns *@fd. For images without a file, such as
 * the vDSO.
 */
int executable_file_from_memory(const char *name, const void *bytes, size_t size, int *fd);

#endif
