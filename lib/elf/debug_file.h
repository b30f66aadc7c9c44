/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Separate debug files, into which distributions move the debug data of a file. They are looked for by build id
 * below /usr/lib/debug/.build-id, and by the name in .gnu_debuglink beside the file, in .debug/ beside it and
 * in its folder below /usr/lib/debug (GDB manual, "Debugging Information in Separate Files"); first in the
 * host's root, then in the root of a process that has mapped the file, then among the files that debuginfod's
 * client has fetched.
 *
 * A file is taken only if it is proven to belong: by an equal build id or, where one of the two has none, by
 * the CRC-32 in the link; Its code must have the same addresses as the file's, and its owner must be root, the
 * agent's user or the owner of the file.
 *
 * Paths and files are hostile: they are resolved below the root without leaving it, and only regular files are
 * opened. A path, and a link on it, may cross mounts that can be read without the risk of hanging.
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
	 * Largest file whose CRC is computed. That takes a tenth of a second, while other files wait. Larger
	 * debug files have build ids.
	 */
	DEBUG_FILE_CRC_MAX_BYTES = 64 << 20,
	/** The process whose root is the host's. */
	DEBUG_FILE_HOST_PID = 1,
};

enum debug_file_root {
	DEBUG_ROOT_HOST,
	/** The root of process debug_file_search.pid. */
	DEBUG_ROOT_PROCESS,
	/** The folder of fetched files. */
	DEBUG_ROOT_FETCHED,
	DEBUG_ROOT_COUNT,
};

/** Where to look. Strings are borrowed. */
struct debug_file_search {
	/**
	 * NULL, or it opens files as debug_file_open_below() does, for a process that can open none (open_context is its
	 * first argument). Of the other fields only path is used then.
	 */
	int (*open)(void *context, enum debug_file_root root, const char *path, int *fd);
	void *open_context;
	/** "/proc", or a test's folder. */
	const char *proc_root;
	/** A process that has mapped the file; 0 if there is none any more. */
	pid_t pid;
	/**
	 * Whether @root_fd is that process's root, opened by debug_file_open_root(). The process may be gone by
	 * now.
	 */
	bool has_root;
	int root_fd;
	/** The file's path in that process's root, for links; NULL: unknown. */
	const char *path;
	/** Judges each root, and each mount on a path. */
	struct path_judge judge;
	/** Cache folder of debuginfod's client (debuginfod-find(1)); NULL: it is not searched. */
	const char *fetched;
};

/** Opens the root of process @pid with O_PATH, if it may be read; the caller owns *@fd. -ENOENT. */
int debug_file_open_root(const struct debug_file_search *search, pid_t pid, int *fd);

/**
 * Opens the debug file of @image; the caller owns *@fd. -ENOENT if none is proven to belong to it.
 */
int debug_file_open(const struct debug_file_search *search, const struct elf_image *image, int *fd);

/**
 * Opens the regular file at @path below @root, whatever is in it, for a search that another process makes with
 * debug_file_search.open. The file's owner must be root, the agent's user or the owner of @file_fd. The caller owns *@fd. -ENOENT.
 */
int debug_file_open_below(const struct debug_file_search *search, enum debug_file_root root,
			  const char *path, int file_fd, int *fd);

/**
 * Opens the regular file at @path, an absolute path in the debug data of @file_fd (of a .dwo file or dwz's
 * common file). The same roots are searched in the same order, and the file's owner must be root, the agent's
 * user or the owner of @file_fd. The caller has to prove that the file belongs. The caller owns *@fd. -ENOENT,
 * -EINVAL.
 */
int debug_file_open_path(const struct debug_file_search *search, const char *path, int file_fd,
			 int *fd);

/** Parses a .gnu_debuglink: a name without folders, padding, a CRC. -EBADMSG. */
int debug_link_parse(const void *bytes, size_t size, const char **name, uint32_t *crc);

#endif
