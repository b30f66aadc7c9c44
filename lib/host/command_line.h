/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The command line of a process. The process can write anything there, and users write secrets there: it is bounded, proves
 * nothing, and is not for the log.
 */
#ifndef LIB_HOST_COMMAND_LINE_H
#define LIB_HOST_COMMAND_LINE_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** Bytes of a command line with its NUL. Longer ones are cut, not within a character of UTF-8. */
	COMMAND_LINE_MAX_BYTES = 1024,
};

/** Joins the arguments in @text, each with a NUL behind it, by spaces. Any byte but NUL may be in them. */
void command_line_parse(const char *text, size_t size, char line[COMMAND_LINE_MAX_BYTES]);

/**
 * Reads the command line of the process @pid, through another thread where the leader has exited; "" if it cannot be
 * read. The kernel reads it from the process's memory, which can delay the caller. @proc_root is "/proc" or a test's
 * folder.
 */
void command_line_read(const char *proc_root, pid_t pid, char line[COMMAND_LINE_MAX_BYTES]);

#endif
