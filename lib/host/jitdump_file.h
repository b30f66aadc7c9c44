/* SPDX-License-Identifier: Apache-2.0 */
/** Finds the jitdump file of a process (jitdump.h). */
#ifndef LIB_HOST_JITDUMP_FILE_H
#define LIB_HOST_JITDUMP_FILE_H

#include <sys/types.h>

#include "lib/host/mapped_file.h"

/**
 * Finds the mapping by which a runtime tells perf(1) of its file, among @maps, the mappings of process @pid. It
 * is an executable mapping of a file called jit-PID.dump, where PID is the process's id in its own pid
 * namespace. So a parent's file, whose mapping a fork keeps, is not taken. *@mapping borrows *@path, which the
 * caller frees. -ENOENT if there is none, -ESRCH, -ENOMEM, or an error of the kernel.
 */
int jitdump_find_mapping(const char *proc_root, pid_t pid, const struct proc_maps *maps,
			 struct proc_mapping *mapping, char **path);

#endif
