/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes the range file of one file, or finds it in the cache. Symbols are read here, by readers
 * with limits; DWARF, and symbols in great number, are read by range_maker_run().
 */
#ifndef SYMBOLS_RANGE_WORK_H
#define SYMBOLS_RANGE_WORK_H

#include "lib/base/file_cache.h"
#include "lib/host/binary_file.h"
#include "symbols/build/range_maker.h"
#include "symbols/cache/mapped_ranges.h"
#include "symbols/range_key.h"

struct range_work_options {
	/** "/proc", or a directory of a test. */
	const char *proc_root;
	/** NULL: range files are unnamed, and deleted when their descriptor is closed. */
	struct file_cache *cache;
	/** Limit of one unnamed range file. */
	uint64_t unnamed_bytes;
	struct range_maker_limits limits;
	/** As in struct debug_file_search. */
	const char *fetched;
	struct path_judge judge;
};

/** A process that has mapped the file. */
struct range_process {
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
 * like range_work_init().
 */
int range_work_open_root(const struct range_work_options *options, pid_t pid, int *fd);

/** Used by one thread. Borrows the options, the binary and the process's root. */
struct range_work {
	const struct range_work_options *options;
	const struct binary *binary;
	struct borrowed_file file;
	enum range_depth depth;
	struct debug_file_search search;
	struct elf_image image;
	/** fd -1: there is none. */
	struct elf_image debug;
	struct hash128 key;
	bool is_partial;
	/** CPU time of the started processes. */
	uint64_t process_cpu_ns;
};

struct range_file_made {
	/** Owned. */
	int fd;
	uint64_t bytes;
};

/**
 * Opens the file and its debug file, and computes the key. -ESTALE if the file is missing, -ENOENT
 * if this depth gives no more than symbols. The caller deinits, also after an error.
 */
int range_work_init(struct range_work *work, const struct range_work_options *options,
		    const struct binary *binary, const struct range_process *process,
		    enum range_depth depth);
void range_work_deinit(struct range_work *work);

/**
 * Finds or makes the range file. Errors of range_maker_run(); -EAGAIN: the file was changed during
 * the work.
 */
int range_work_do(struct range_work *work, struct range_file_made *made);

#endif
