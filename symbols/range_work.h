/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes the range file of one file, or finds it in the cache. Symbols are read here, by readers that are
 * bounded; DWARF, and symbols in great number, by range_maker_run().
 */
#ifndef SYMBOLS_RANGE_WORK_H
#define SYMBOLS_RANGE_WORK_H

#include "lib/base/file_cache.h"
#include "lib/host/binary_file.h"
#include "symbols/build/range_maker.h"
#include "symbols/cache/mapped_ranges.h"
#include "symbols/range_key.h"

struct range_work_options {
	/** "/proc", or a test's. */
	const char *proc_root;
	/** NULL: range files have no name, and are gone with their descriptor. */
	struct file_cache *cache;
	/** Of one range file without a name. */
	uint64_t unnamed_bytes;
	struct range_maker_limits limits;
	/** As in struct debug_file_search. */
	const char *fetched;
	struct path_judge judge;
};

/** A process that has mapped the file. */
struct range_process {
	/** 0: none is known. */
	pid_t pid;
	/** Its root, with O_PATH, that was taken while it lived; -1: it has to be looked for. Borrowed. */
	int root_fd;
};

/**
 * Takes the root of process @pid, if it may be read and is not the host's: else *@fd stays as it is. -ESRCH if
 * there is none any more. The caller owns *@fd. May wait for a file system, as range_work_init() may.
 */
int range_work_open_root(const struct range_work_options *options, pid_t pid, int *fd);

/** Used by one thread. Borrows options, binary and the process's root. */
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
	/** CPU time of the processes that were started. */
	uint64_t process_cpu_ns;
};

struct range_file_made {
	/** Owned. */
	int fd;
	uint64_t bytes;
};

/**
 * Opens what there is and takes its key. -ESTALE if the file is not there, -ENOENT if
 * at this depth nothing more is known than of symbols. The caller deinits, also after a failure.
 */
int range_work_init(struct range_work *work, const struct range_work_options *options,
		    const struct binary *binary, const struct range_process *process,
		    enum range_depth depth);
void range_work_deinit(struct range_work *work);

/** Finds or makes the file. Errors as of range_maker_run(); -EAGAIN: the file was changed meanwhile. */
int range_work_do(struct range_work *work, struct range_file_made *made);

#endif
