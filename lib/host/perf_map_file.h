/* SPDX-License-Identifier: Apache-2.0 */
/** Where the perf map of a process is (perf_map.h), and whether it may be believed to be its own. */
#ifndef LIB_HOST_PERF_MAP_FILE_H
#define LIB_HOST_PERF_MAP_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/host/mapped_file.h"

/**
 * Opens the file of the process @pid, below the process's own root and under the number that it has
 * in its own pid namespace. Regular files only, without following links, that belong to root or to
 * the process's user, and have been written since @since_ns (CLOCK_REALTIME): before that it is the
 * file of another process that had the number. -ENOENT if there is no such file, -ESRCH, others as
 * the file system says, which may also hang.
 */
int perf_map_open(const char *proc_root, pid_t pid, int64_t since_ns, int *fd,
		  struct file_key *key);

#endif
