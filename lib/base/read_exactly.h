/* SPDX-License-Identifier: Apache-2.0 */
/** Reads of files whose size is known, and which somebody may truncate meanwhile. */
#ifndef LIB_BASE_READ_EXACTLY_H
#define LIB_BASE_READ_EXACTLY_H

#include <stddef.h>
#include <stdint.h>

/** Reads @bytes bytes at @offset. -EBADMSG if the file ends before; or what pread(2) says. */
int read_exactly(int fd, uint64_t offset, void *buffer, size_t bytes);

#endif
