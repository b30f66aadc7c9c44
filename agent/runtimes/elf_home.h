/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface to the home in which executables are parsed. The agent's home is in processes of their own (elf_hosts.h).
 * Without a home, as in tests, tools and -dump, the caller parses them itself (executable_file.h).
 */
#ifndef AGENT_RUNTIMES_ELF_HOME_H
#define AGENT_RUNTIMES_ELF_HOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/executable_file.h"
#include "interpreters/language.h"
#include "symbols/build/symbol_cache_maker.h"

struct elf_home;

/**
 * Any thread. @fd is borrowed, of a file that answers. Each call can fail with
 *
 *	-EAGAIN		not now: too many files of its owner have ended such processes
 *	-EBADMSG	also if the file has ended two processes
 *	-ECANCELED	the agent stops
 */
struct elf_home_ops {
	/** As executable_file_identify(). */
	int (*identify)(struct elf_home *home, int fd, struct binary *binary,
			struct program_facts *facts, struct elf_image *segments);
	/** As executable_file_load(). */
	int (*load)(struct elf_home *home, int fd, const struct load_helper *helper,
		    const struct load_limits *limits, struct load_result *result);
	/**
	 * Finds out whether the file is a runtime of one of @languages (languages_probe()), and sets *@copies_stacks as
	 * languages_copy_stacks() does, also if that is an error. *@file is a copy (runtime_file.is_copy).
	 */
	int (*probe)(struct elf_home *home, int fd, const char *path, uint32_t languages,
		     struct runtime_file **file, bool *copies_stacks);
	/**
	 * As executable_file_analyse_copy(). @uid: the user who gets the blame if that ends the processes. *@deltas is for
	 * exactly the pages of the range.
	 */
	int (*analyse_copy)(struct elf_home *home, int fd, uid_t uid, uint64_t address,
			    uint64_t size, struct stack_deltas *deltas);
	/**
	 * As make_small_symbol_cache() for files->elf and files->debug (-1: none), into files->output; adds the CPU time that it took to
	 * *@cpu_ns. Goes on after stop(), until stop_symbols().
	 */
	int (*make_symbols)(struct elf_home *home, const struct symbol_cache_maker_files *files,
			    struct hash128 key, uint64_t *cpu_ns);
	/** Somebody waits for all that is parsed now: it gets normal priority. */
	void (*hurry)(struct elf_home *home);
	/** From now on nothing else but symbols is parsed, and no other call waits for longer than a moment. */
	void (*stop)(struct elf_home *home);
	/** The same for symbols. */
	void (*stop_symbols)(struct elf_home *home);
};

struct elf_home {
	const struct elf_home_ops *ops;
};

#endif
