/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Restricts a process before it reads hostile files with a library: limits of memory, CPU time and
 * output, low priority, and no core dumps, capabilities, or system calls other than those that such
 * reading needs. Functions of the caller open the files that the library asks for, and tell it the
 * names of open files.
 *
 * Only for a process with one thread that exists for this purpose: the restrictions cannot be
 * undone.
 */
#ifndef SYMBOLS_BUILD_SANDBOX_H
#define SYMBOLS_BUILD_SANDBOX_H

#include <stdint.h>

struct sandbox_limits {
	/** In whole seconds, rounded up; SIGXCPU ends the process. */
	uint64_t cpu_ns;
	/** Limit of anonymous memory, in addition to what the process has; allocations fail. */
	uint64_t memory_bytes;
	/**
	 * Limit of address space for files, in addition to the above and to what the process has.
	 */
	uint64_t mapped_bytes;
	/** Limit of a file's size; SIGXFSZ ends the process. */
	uint64_t output_bytes;
};

/** Called from a signal handler while the thread is in a system call. */
struct sandbox_files {
	/** Opens the file at @path for reading: a descriptor, or -errno. */
	int (*open_file)(const char *path);
	/** The path of the open file @fd, NULL if it has none. */
	const char *(*file_path)(int fd);
	/** The socket on which the process may receive and send. */
	int socket;
};

/** @files is borrowed until the process ends. -errno of the kernel, with text. */
int sandbox_enter(const struct sandbox_limits *limits, const struct sandbox_files *files);

#endif
