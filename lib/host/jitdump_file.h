/* SPDX-License-Identifier: Apache-2.0 */
/** Where the jitdump file of a process is (jitdump.h). */
#ifndef LIB_HOST_JITDUMP_FILE_H
#define LIB_HOST_JITDUMP_FILE_H

#include <sys/types.h>

#include "lib/host/mapped_file.h"

/**
 * Finds the mapping by which a runtime shows perf(1) its file, among @maps, which are those of process @pid: an
 * executable one of a file called jit-PID.dump, PID being the number of the process in its own pid namespace, so that
 * the file of a parent, whose mapping a fork keeps, is not taken. *@mapping borrows *@path, which the caller
 * frees. -ENOENT if there is none, -ESRCH, -ENOMEM, others as the kernel says.
 */
int jitdump_find_mapping(const char *proc_root, pid_t pid, const struct proc_maps *maps,
			 struct proc_mapping *mapping, char **path);

#endif
