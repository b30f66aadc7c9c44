/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Unnamed files, which are deleted when their descriptor is closed: for symbol caches, and for data that
 * is too large for memory while debug data is read. They are on a disk, so that their pages can be
 * reclaimed; in memory only if no disk is writable.
 */
#ifndef SYMBOLS_CACHE_SCRATCH_FILE_H
#define SYMBOLS_CACHE_SCRATCH_FILE_H

#include <stdint.h>

/** The folders of such files, the first one first. */
#define SCRATCH_FOLDER "/var/tmp"
#define SCRATCH_OTHER_FOLDER "/tmp"

enum {
	/** Limit of a file in memory, such as any file on a tmpfs. */
	SCRATCH_IN_MEMORY_MAX_BYTES = 128 << 20,
};

/**
 * Opens a file of @bytes zeros and allocates their disk space: at most half of the free space. 0
 * opens an empty file, which may grow. The caller owns *@fd. -ENOSPC, or errors of system calls.
 */
int scratch_file_open(uint64_t bytes, int *fd);

/** Like scratch_file_open(), but disk space is allocated only where the file is written. */
int scratch_file_open_sparse(uint64_t bytes, int *fd);

#endif
