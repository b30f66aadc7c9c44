/* SPDX-License-Identifier: Apache-2.0 */
/** Finds the perf map of a process (perf_map.h), and checks that it is the process's own. */
#ifndef LIB_HOST_PERF_MAP_FILE_H
#define LIB_HOST_PERF_MAP_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/host/mapped_file.h"

/**
 * Opens the file of the process @pid, below the process's own root and under its id in its own pid namespace.
 * Only regular files are opened, without following links. They must belong to root or to the process's user,
 * and have been written since @since_ns (CLOCK_REALTIME); an older file is another process's that had the same
 * id. -ENOENT if there is no such file, -ESRCH, or an error of the file system, which may also hang.
 */
int perf_map_open(const char *proc_root, pid_t pid, int64_t since_ns, int *fd,
		  struct file_key *key);

#endif
