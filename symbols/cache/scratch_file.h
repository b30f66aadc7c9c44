/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files without a name, which go with their descriptor: for ranges, and for what is too large for memory
 * while debug data is read. They lie on a disk, whose pages can be had again; in memory only
 * where there is none that can be written to.
 */
#ifndef SYMBOLS_CACHE_SCRATCH_FILE_H
#define SYMBOLS_CACHE_SCRATCH_FILE_H

#include <stdint.h>

enum {
	/** What a file may take that lies in memory, as all of a tmpfs does. */
	SCRATCH_IN_MEMORY_MAX_BYTES = 128 << 20,
};

/**
 * Opens one of @bytes zeroes, for which there is room: at most half of what a disk has free is taken. 0: an
 * empty one, which may grow. The caller owns *@fd. -ENOSPC, or as system calls say.
 */
int scratch_file_open(uint64_t bytes, int *fd);

/** The same, but room is only taken where it is written to. */
int scratch_file_open_sparse(uint64_t bytes, int *fd);

#endif
