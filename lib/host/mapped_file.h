/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opens the file behind a mapping of another process, in whatever mount namespace, deleted or not. Only regular
 * files are opened, read-only, without following a link out of the process's root and without waiting for FIFOs
 * or devices. A file on a dead network or FUSE mount can still hang the calling thread, so call this only where
 * that is acceptable.
 */
#ifndef LIB_HOST_MAPPED_FILE_H
#define LIB_HOST_MAPPED_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/host/proc_maps.h"
#include "lib/model/file_key.h"

/**
 * Opens the file of @mapping and returns its descriptor, which the caller owns, and its key. It first uses
 * map_files/START-END, which is the mapping itself; otherwise the path below the process's root, where device
 * and inode must be those of the mapping. -ESRCH if the process is gone, -ENOENT if neither leads to the file,
 * -EOPNOTSUPP if it is not a regular file.
 */
int mapped_file_open(const char *proc_root, pid_t pid, const struct proc_mapping *mapping, int *fd,
		     struct file_key *key);

/**
 * Opens the file by map_files only. For a file on a local file system this waits for nothing but the lock of
 * the process's memory. Errors are the kernel's.
 */
int mapped_file_open_mapping(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
			     int *fd, struct file_key *key);

/**
 * Reads the key alone, by map_files, without opening the file. -EOPNOTSUPP if it is not a regular file, -ENOENT
 * if there is no such mapping (any more), or an error of stat(2).
 */
int mapped_file_key(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
		    struct file_key *key);

/**
 * Opens the file of @path_fd, an O_PATH descriptor, for reading without waiting for leases. -EOPNOTSUPP if it
 * is not a regular file. The caller owns *@fd; @path_fd stays open.
 */
int regular_file_reopen(int path_fd, int *fd, struct file_key *key);

/**
 * Opens the regular file at @path below the root of process @pid, whether it is mapped or not. @path itself
 * must not be a link, and no link in it may lead out of the root. -ENOENT, -ESRCH, -ELOOP and other errors of
 * the kernel, -EOPNOTSUPP if it is no regular file.
 */
int mapped_file_open_in_root(const char *proc_root, pid_t pid, const char *path, int *fd,
			     struct file_key *key);

/** The key of an open regular file; -EOPNOTSUPP for others. */
int file_key_of_fd(int fd, struct file_key *key);

#endif
