/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Separate debug files: where distributions put what they strip from a file. They are looked for by
 * build id below /usr/lib/debug/.build-id, and by the name in .gnu_debuglink beside the file, in
 * .debug/ beside it and in its folder below /usr/lib/debug (GDB manual, "Debugging Information in
 * Separate Files"); first in the host's root, then in that of a process that has mapped the file, then among
 * those that debuginfod's client has fetched.
 *
 * A file is taken only if it is proven to belong: by an equal build id or, where one of the two has
 * none, by the CRC-32 in the link; its code must lie where the file's does, and it be root's, or of who has the file.
 *
 * Paths and files are hostile: they are resolved below the root without leaving it, and only regular files are
 * opened. A path may lead through mounts that can be read without the fear of hanging, a link not.
 */
#ifndef LIB_ELF_DEBUG_FILE_H
#define LIB_ELF_DEBUG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/elf/elf_image.h"
#include "lib/host/judged_path.h"

enum {
	/**
	 * Of a file whose CRC has to be taken: a tenth of a second, in which other files wait. Larger
	 * ones have build ids.
	 */
	DEBUG_FILE_CRC_MAX_BYTES = 64 << 20,
	/** Of the processes that may be asked for their root. */
	DEBUG_FILE_HOST_PID = 1,
};

/** Where to look. Strings are borrowed. */
struct debug_file_search {
	/** "/proc", or a test's. */
	const char *proc_root;
	/** A process that has mapped the file; 0 if there is none any more. */
	pid_t pid;
	/** Whether @root_fd is that process's root, as debug_file_open_root() has opened it: it may be gone now. */
	bool has_root;
	int root_fd;
	/** The file's path in that process's root, for links; NULL: unknown. */
	const char *path;
	/** Asked of each root, and of each mount that a path leads to. */
	struct path_judge judge;
	/** Where debuginfod's client keeps what it fetches (debuginfod-find(1)); NULL: nothing is looked for there. */
	const char *fetched;
};

/** Opens the root of process @pid with O_PATH, if it may be read; the caller owns *@fd. -ENOENT. */
int debug_file_open_root(const struct debug_file_search *search, pid_t pid, int *fd);

/**
 * Opens the debug file of @image; the caller owns *@fd. -ENOENT if there is none that is proven to
 * belong.
 */
int debug_file_open(const struct debug_file_search *search, const struct elf_image *image, int *fd);

/**
 * Opens the regular file at @path, an absolute one that the debug data of @file_fd name (of a .dwo file, of dwz's
 * common file), in the same roots in the same order, if it is root's, or of who has that file. Whether it
 * belongs is for the caller to prove. The caller owns *@fd. -ENOENT, -EINVAL.
 */
int debug_file_open_path(const struct debug_file_search *search, const char *path, int file_fd,
			 int *fd);

/** Takes a .gnu_debuglink apart: a name without folders, padding, a CRC. -EBADMSG. */
int debug_link_parse(const void *bytes, size_t size, const char **name, uint32_t *crc);

#endif
