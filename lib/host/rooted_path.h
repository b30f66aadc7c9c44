/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Opens what is at a path below the root of a process, where links and ".." cannot lead out. The kernel's own way for
 * this, openat2(2), takes its flags from memory, so a filter of system calls that allows it allows to write files, too
 * (lib/base/confinement.h). Here the path is taken apart, and each part is opened by openat(2).
 */
#ifndef LIB_HOST_ROOTED_PATH_H
#define LIB_HOST_ROOTED_PATH_H

/**
 * Opens @path below @root_fd with O_PATH; the last part is not followed if it is a link. The caller owns *@fd. -errno:
 * -ELOOP: too many links or parts, or somebody exchanges them meanwhile.
 */
int rooted_path_open(int root_fd, const char *path, int *fd);

#endif
