/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a process gives up before it reads hostile files with a library: memory, CPU time and bytes of
 * output beyond limits, priority, core dumps, capabilities, and all system calls but those that such
 * reading takes. Files that the library wants to open, and the names of open ones that it asks for, are
 * given to it by functions of the caller.
 *
 * For a process that was made for this and has one thread: there is no way back.
 */
#ifndef SYMBOLS_BUILD_SANDBOX_H
#define SYMBOLS_BUILD_SANDBOX_H

#include <stdint.h>

struct sandbox_limits {
	/** In whole seconds, rounded up; the process is ended by SIGXCPU. */
	uint64_t cpu_ns;
	/** Of memory of its own, beyond what it has; allocations fail. */
	uint64_t memory_bytes;
	/** Of address space for files, beyond that and what it has. */
	uint64_t mapped_bytes;
	/** Of a file; the process is ended by SIGXFSZ. */
	uint64_t output_bytes;
};

/** Called from a signal handler, while the thread waits in a system call. */
struct sandbox_files {
	/** A descriptor for reading the file at @path, or -errno. */
	int (*open_file)(const char *path);
	/** The path of the file that is open as @fd, NULL if it has none. */
	const char *(*file_path)(int fd);
	/** The socket that may be received from and sent to. */
	int socket;
};

/** @files is borrowed for the life of the process. -errno as the kernel says, with text. */
int sandbox_enter(const struct sandbox_limits *limits, const struct sandbox_files *files);

#endif
