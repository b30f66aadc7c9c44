/* SPDX-License-Identifier: Apache-2.0 */
/** Copies of files in memory, for readers that must not wait for file systems. */
#ifndef AGENT_RUNTIMES_FILE_COPY_H
#define AGENT_RUNTIMES_FILE_COPY_H

#include <stdint.h>

#include "lib/base/splice_reader.h"

enum {
	FILE_COPY_MAX_BYTES = 256 << 20,
};

/**
 * Makes a sealed copy of @fd, a regular file; the caller owns *@copy. DWARF in ELF files is left out, except
 * unwind tables; the copy has zeroes there, which take no memory. -EFBIG if more than FILE_COPY_MAX_BYTES are
 * left, or an error of pread() and the like.
 */
int file_copy_create(struct splice_reader *reader, int fd, int *copy);

#endif
