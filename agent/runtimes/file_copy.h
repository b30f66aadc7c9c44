/* SPDX-License-Identifier: Apache-2.0 */
/** Copies of files in memory, for who must not wait for their file systems. */
#ifndef AGENT_RUNTIMES_FILE_COPY_H
#define AGENT_RUNTIMES_FILE_COPY_H

#include <stdint.h>

enum {
	FILE_COPY_MAX_BYTES = 256 << 20,
};

/**
 * A sealed copy of @fd, a regular file; the caller owns *@copy. DWARF in ELF files is left out, but for unwind tables: there
 * the copy has zeroes that take no memory. -EFBIG if more than FILE_COPY_MAX_BYTES are left, others as pread()
 * and the like say.
 */
int file_copy_create(int fd, int *copy);

#endif
