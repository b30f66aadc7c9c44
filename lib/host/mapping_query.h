/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Single mappings of a process, asked for by ioctl(PROCMAP_QUERY) on /proc/PID/maps (include/uapi/linux/fs.h, Linux 6.11 and
 * later). A large program has ten rows of data for each row of code, and the kernel takes longer to print them than for all
 * that is done with the rows of code.
 */
#ifndef LIB_HOST_MAPPING_QUERY_H
#define LIB_HOST_MAPPING_QUERY_H

#include <limits.h>
#include <stdint.h>

#include "lib/host/proc_maps.h"

/** The number of the call, PROCMAP_QUERY of <linux/fs.h>, for filters of system calls. */
#define MAPPING_QUERY_CALL 0xc0686611u

/**
 * The first executable mapping that ends above @address, from @fd, which is an open /proc/PID/maps. Its path is as in the text, but
 * nothing in it is escaped; it ends with NUL, and row->path is left alone. -ENOENT: there is none. -ESRCH: the process is gone, or
 * has no memory. -EOPNOTSUPP, without a text: it cannot be asked for, or its path is too long; the text has it.
 */
int mapping_query_code(int fd, uint64_t address, struct proc_mapping *row, char path[PATH_MAX]);

#endif
