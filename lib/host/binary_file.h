/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file of a binary. As long as a process runs it, its descriptor is there; then it is closed, so that its
 * file system can be unmounted and what was deleted takes no room, and the file is opened by its path for
 * as long as somebody reads it. Where a file system may never answer, another process has the file
 * (lib/model/held_file.h), and who reads it reads a copy. Any thread.
 */
#ifndef LIB_HOST_BINARY_FILE_H
#define LIB_HOST_BINARY_FILE_H

#include <stdbool.h>

#include "lib/host/judged_path.h"
#include "lib/model/binary.h"

/** The file while somebody reads it. */
struct borrowed_file {
	struct binary *binary;
	/** -1 if the file is not there (any more): the error says why. */
	int fd;
};

/** Whether the binary has a file, which need not be there any more. */
bool binary_file_is_known(const struct binary *binary);

/** Whether the file was closed, is to be, or was lost: binary_file_take(). */
bool binary_file_is_let_go(const struct binary *binary);

/**
 * Whether whoever reads the file for long holds up an unmount: nobody runs it any more, and it is not in the file
 * system of our own root.
 */
bool binary_file_is_in_the_way(const struct binary *binary);

/**
 * By the descriptor, if there is one. The binary has to live until the file is given back. With may_hang the copy
 * is made first, which may take seconds: for threads that may wait.
 */
struct borrowed_file binary_file_borrow(const struct binary *binary);

/**
 * Or by the path, below our own root, as far as mounts on the way may be read; @judge NULL: not by the path. What
 * was not there is looked for again after a second only. For threads that may wait for a file system.
 */
struct borrowed_file binary_file_open(const struct binary *binary, const struct path_judge *judge);

void binary_file_return(struct borrowed_file *file);

/** Closes the descriptor when nobody reads by it any more; unless it is of no file but of a copy, which has no path. */
void binary_file_let_go(struct binary *binary);

/** Takes @fd, or else @held, over, of the same file: it is run again. */
void binary_file_take(struct binary *binary, int fd, struct held_file *held);

#endif
