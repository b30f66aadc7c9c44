/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opening files by paths that others chose, without the fear of hanging: the device of each mount on the way is
 * asked of the kernel's own memory, and judged, before anything is looked up there.
 */
#ifndef LIB_HOST_JUDGED_PATH_H
#define LIB_HOST_JUDGED_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/file_key.h"

/** Whether files on a device, which process @pid sees, can be read without that fear. */
struct path_judge {
	/** NULL: on all. */
	bool (*may_read)(void *context, pid_t pid, uint32_t major, uint32_t minor);
	void *context;
};

/** A folder below which paths are looked up, and the process whose mounts they are. Borrowed, all of it. */
struct judged_root {
	int fd;
	pid_t pid;
	const struct path_judge *judge;
};

/** Whether the mount that @fd, an O_PATH descriptor, lies on may be read. */
bool judged_path_may_read(const struct path_judge *judge, pid_t pid, int fd);

/**
 * The regular file at @path below @root; the caller owns *@fd. Where mounts are judged, links lead nowhere
 * outside of the mount that they are on. -ENOENT.
 */
int judged_path_open(const struct judged_root *root, const char *path, int *fd,
		     struct file_key *key);

#endif
