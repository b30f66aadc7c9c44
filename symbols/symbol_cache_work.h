/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes the symbol caches of one file, or finds it in the cache. DWARF, and symbols in great number, are read by
 * symbol_cache_maker_run(), which starts a process for each file.
 */
#ifndef SYMBOLS_SYMBOL_CACHE_WORK_H
#define SYMBOLS_SYMBOL_CACHE_WORK_H

#include "lib/base/file_cache.h"
#include "lib/host/binary_file.h"
#include "symbols/build/symbol_cache_maker.h"
#include "symbols/cache/mapped_symbol_cache.h"
#include "symbols/symbol_cache_key.h"

/** Makes the symbol caches of files that have few symbols. */
struct small_symbol_cache_maker {
	/**
	 * As make_small_symbol_cache(), and adds the CPU time that it took elsewhere to *@cpu_ns. -ECANCELED: nothing is made any more. Any other error: symbol_cache_maker_run() makes it, what was written is thrown away. Any thread. NULL: it is made by
	 * the caller itself.
	 */
	int (*make)(void *context, const struct symbol_cache_maker_files *files, struct hash128 key,
		    uint64_t *cpu_ns);
	void *context;
};

struct symbol_cache_work_options {
	/** "/proc", or a directory of a test. */
	const char *proc_root;
	/** NULL: symbol caches are unnamed, and deleted when their descriptor is closed. */
	struct file_cache *cache;
	/** Limit of one unnamed symbol cache. */
	uint64_t unnamed_bytes;
	struct symbol_cache_maker_limits limits;
	struct small_symbol_cache_maker small;
	/** As in struct debug_file_search. */
	const char *fetched;
	struct path_judge judge;
};

/** A process that has mapped the file. */
struct symbol_cache_process {
	/** 0: unknown. */
	pid_t pid;
	/**
	 * Its root directory (O_PATH), opened while the process lived; -1: to be opened. Borrowed.
	 */
	int root_fd;
};

/**
 * Opens the root directory of process @pid, if it may be read and is not the host's; otherwise *@fd
 * is unchanged. -ESRCH if the process is gone. The caller owns *@fd. May wait for a file system,
 * like symbol_cache_work_init().
 */
int symbol_cache_work_open_root(const struct symbol_cache_work_options *options, pid_t pid,
				int *fd);

/** Used by one thread. Borrows the options, the binary and the process's root. */
struct symbol_cache_work {
	const struct symbol_cache_work_options *options;
	const struct binary *binary;
	struct borrowed_file file;
	enum symbol_depth depth;
	struct debug_file_search search;
	struct elf_image image;
	/** fd -1: there is none. */
	struct elf_image debug;
	struct hash128 key;
	bool is_partial;
	/** CPU time of the started processes. */
	uint64_t process_cpu_ns;
};

struct symbol_cache_made {
	/** Owned. */
	int fd;
	uint64_t bytes;
};

/**
 * Opens the file and its debug file, and computes the key. -ESTALE if the file is missing, -ENOENT
 * if this depth gives no more than symbols. The caller deinits, also after an error.
 */
int symbol_cache_work_init(struct symbol_cache_work *work,
			   const struct symbol_cache_work_options *options,
			   const struct binary *binary, const struct symbol_cache_process *process,
			   enum symbol_depth depth);
void symbol_cache_work_deinit(struct symbol_cache_work *work);

/**
 * Finds or makes the symbol cache. Errors of symbol_cache_maker_run(); -EAGAIN: the file was changed during
 * the work.
 */
int symbol_cache_work_do(struct symbol_cache_work *work, struct symbol_cache_made *made);

#endif
