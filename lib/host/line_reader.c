/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with line ends, which may hold any other byte. A last line needs no line end.
 */
#include "lib/host/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

/* Hands over all whole lines; *@rest is the size of the rest, which has no line end yet. */
static int take_whole_lines(const char *text, size_t size, line_fn take_line, void *context,
			    size_t *rest)
{
	const char *line = text, *end = text + size, *line_end;

	while (line < end && (line_end = memchr(line, '\n', end - line))) {
		int err = take_line(context, line, line_end - line);

		if (err)
			return err;
		line = line_end + 1;
	}
	*rest = end - line;
	return 0;
}

int lines_of_text(const char *text, size_t size, line_fn take_line, void *context)
{
	size_t rest = 0;
	int err;

	err = take_whole_lines(text, size, take_line, context, &rest);
	if (err || !rest)
		return err;
	return take_line(context, text + size - rest, rest);
}

int lines_of_fd(int fd, uint64_t limit_bytes, line_fn take_line, void *context)
{
	_cleanup_(free_pointer) char *buffer = malloc(LINE_MAX_BYTES);
	size_t filled = 0, rest = 0;
	uint64_t total = 0;
	int err;

	if (!buffer)
		return fail(-ENOMEM, "no memory to read lines");
	for (;;) {
		ssize_t count = read(fd, buffer + filled, LINE_MAX_BYTES - filled);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return fail_errno(-errno, "cannot read lines");
		if (!count)
			break;
		filled += count;
		total += count;
		err = take_whole_lines(buffer, filled, take_line, context, &rest);
		if (err)
			return err;
		if (rest == LINE_MAX_BYTES)
			return fail(-EBADMSG, "a line without an end");
		memmove(buffer, buffer + filled - rest, rest);
		filled = rest;
		if (total > limit_bytes)
			return fail(-E2BIG, "text of more than %llu bytes",
				    (unsigned long long)limit_bytes);
	}
	return filled ? take_line(context, buffer, filled) : 0;
}
