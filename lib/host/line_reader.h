/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads text files of /proc line by line, without the whole text in memory.
 */
#ifndef LIB_HOST_LINE_READER_H
#define LIB_HOST_LINE_READER_H

#include <stddef.h>
#include <stdint.h>

enum {
	/** Longer lines give -EBADMSG. */
	LINE_MAX_BYTES = 64 << 10,
};

/** Gets a line without its end, borrowed for the call. Anything but 0 ends the reading. */
typedef int (*line_fn)(void *context, const char *line, size_t length);

/**
 * Reads @fd to its end. Returns what @take_line returned if that was not 0, -E2BIG after @limit_bytes,
 * -EBADMSG, -ENOMEM or an error of read(2) (-ESRCH for a process that has gone).
 */
int lines_of_fd(int fd, uint64_t limit_bytes, line_fn take_line, void *context);

/** The same for the lines of @size bytes of text. */
int lines_of_text(const char *text, size_t size, line_fn take_line, void *context);

#endif
