/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opens files by paths that others chose, without the risk of hanging: the device of each mount on a path is
 * read from the kernel's memory and judged before anything is looked up on the mount.
 */
#ifndef LIB_HOST_JUDGED_PATH_H
#define LIB_HOST_JUDGED_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/file_key.h"

/** Decides whether files on a device, which process @pid sees, can be read without the risk of hanging. */
struct path_judge {
	/** NULL: files on all devices can be read. */
	bool (*may_read)(void *context, pid_t pid, uint32_t major, uint32_t minor);
	void *context;
};

/** A folder below which paths are looked up, and the process whose mounts are used. All borrowed. */
struct judged_root {
	int fd;
	pid_t pid;
	const struct path_judge *judge;
};

/** Whether the mount of @fd, an O_PATH descriptor, may be read. */
bool judged_path_may_read(const struct path_judge *judge, pid_t pid, int fd);

/**
 * Opens the regular file at @path below @root; the caller owns *@fd. Mounts that links lead to are judged, too. -ENOENT.
 */
int judged_path_open(const struct judged_root *root, const char *path, int *fd,
		     struct file_key *key);

#endif
