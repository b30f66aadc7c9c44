/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file of a binary. Its descriptor is open as long as a process runs the file. Then the descriptor is
 * closed, so that the file system can be unmounted and a deleted file takes no space; readers open the file by
 * its path. Where a file system may never answer, another process holds the file (lib/model/held_file.h), and
 * readers read a copy. Any thread.
 */
#ifndef LIB_HOST_BINARY_FILE_H
#define LIB_HOST_BINARY_FILE_H

#include <stdbool.h>

#include "lib/host/judged_path.h"
#include "lib/model/binary.h"

/** A file that is being read. */
struct borrowed_file {
	struct binary *binary;
	/** -1 if the file cannot be had (any more); error_text() has the reason. */
	int fd;
};

/** Whether the binary has a file. The file need not exist any more. */
bool binary_file_is_known(const struct binary *binary);

/** Whether the file was closed, is to be closed, or was lost; then binary_file_take() may replace it. */
bool binary_file_is_let_go(const struct binary *binary);

/**
 * Whether a long read of the file would delay an unmount: no process runs the file any more, and it is not on
 * the file system of our own root.
 */
bool binary_file_is_in_the_way(const struct binary *binary);

/**
 * Borrows the file's descriptor, if it is open and the file was not written anew in the meantime. The binary has to live until
 * binary_file_return(). With may_hang a copy is made first, which may take seconds: for threads that may wait.
 */
struct borrowed_file binary_file_borrow(const struct binary *binary);

/**
 * Borrows the descriptor or, if it is closed, opens the file by its path below our own root, as far as mounts
 * on the path may be read. @judge NULL: the path is not used. A file that was not found is looked for again
 * only after a second. For threads that may wait for a file system.
 */
struct borrowed_file binary_file_open(const struct binary *binary, const struct path_judge *judge);

void binary_file_return(struct borrowed_file *file);

/** False if the file was written anew while it was borrowed: what was read of it is not to be believed. */
bool binary_file_is_valid(const struct borrowed_file *file);

/** Closes the descriptor as soon as nobody reads by it. A descriptor of a copy without a path stays open. */
void binary_file_let_go(struct binary *binary);

/** Takes over @fd or, without one, @held, of the same file, since a process runs the file again. */
void binary_file_take(struct binary *binary, int fd, struct held_file *held);

#endif
