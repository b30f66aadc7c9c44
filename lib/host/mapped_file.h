/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opening the file behind a mapping of another process, whatever its mount namespace, deleted or
 * not. Opens regular files only, read-only, without following a link out of the process's root and
 * without waiting for FIFOs or devices. A file on a dead network or FUSE mount can still hang the
 * calling thread: call it where that is bearable.
 */
#ifndef LIB_HOST_MAPPED_FILE_H
#define LIB_HOST_MAPPED_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/host/proc_maps.h"
#include "lib/model/file_key.h"

/**
 * Opens the file of @mapping and gives its descriptor, which the caller owns, and its key.
 * By map_files/START-END first, which is the mapping itself; else by path below the process's root,
 * and then device and inode must be those of the mapping. -ESRCH if the process is gone, -ENOENT
 * if neither way leads to the file, -EOPNOTSUPP if it is not a regular file.
 */
int mapped_file_open(const char *proc_root, pid_t pid, const struct proc_mapping *mapping, int *fd,
		     struct file_key *key);

/**
 * The same by map_files only: of a file on a local file system it waits for nothing but the lock of the process's
 * memory. -errno as the kernel says.
 */
int mapped_file_open_mapping(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
			     int *fd, struct file_key *key);

/**
 * The key alone, by map_files and without opening the file; -EOPNOTSUPP if it is not a regular one,
 * -ENOENT if there is no such mapping (any more), others as stat(2) says.
 */
int mapped_file_key(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
		    struct file_key *key);

/**
 * Opens for reading what @path_fd, an O_PATH descriptor, stands for, if it is a regular file
 * (-EOPNOTSUPP), without waiting for leases. The caller owns *@fd; @path_fd stays.
 */
int regular_file_reopen(int path_fd, int *fd, struct file_key *key);

/**
 * Opens the regular file at @path below the root of process @pid, whether it is mapped or not; @path
 * itself is no link, and no link in it leads out. -ENOENT, -ESRCH, -ELOOP and the like as the kernel
 * says, -EOPNOTSUPP if it is no regular file.
 */
int mapped_file_open_in_root(const char *proc_root, pid_t pid, const char *path, int *fd,
			     struct file_key *key);

/** The key of a regular file that is open; -EOPNOTSUPP for others. */
int file_key_of_fd(int fd, struct file_key *key);

#endif
