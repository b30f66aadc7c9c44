/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opens what is at a path below the root of a process, where links and ".." cannot lead out. The kernel's own way for
 * this, openat2(2), takes its flags from memory, so a filter of system calls that allows it allows to write files, too
 * (lib/base/confinement.h). Here the path is taken apart, and each part is opened by openat(2).
 */
#ifndef LIB_HOST_ROOTED_PATH_H
#define LIB_HOST_ROOTED_PATH_H

#include <stdbool.h>

struct rooted_path_rules {
	/** The last part is followed if it is a link. */
	bool follows_last;
	/**
	 * Whether the mount of @fd may be entered, asked for each mount on the path other than that of the root, before
	 * anything is looked up there; NULL: all of them.
	 */
	bool (*may_enter)(const void *context, int fd);
	const void *context;
};

/**
 * Opens @path below @root_fd with O_PATH; no automount is triggered. The caller owns *@fd. -errno: -ELOOP: too many
 * links or parts, or somebody exchanges them meanwhile; -ENOENT also for a mount that may not be entered.
 */
int rooted_path_open(int root_fd, const char *path, const struct rooted_path_rules *rules, int *fd);

#endif
