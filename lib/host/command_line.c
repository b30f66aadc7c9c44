/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel reads /proc/PID/cmdline from anonymous pages of the process only (get_mm_cmdline() in fs/proc/base.c), as it does
 * with the environment. So only the lock of the process's memory can delay the read.
 */
#include "lib/host/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/host/proc_info.h"

void command_line_parse(const char *text, size_t size, char line[COMMAND_LINE_MAX_BYTES])
{
	char joined[COMMAND_LINE_MAX_BYTES];
	size_t length = size < sizeof(joined) ? size : sizeof(joined);

	/* The byte behind the cut shows whether a character was cut. */
	memcpy(joined, text, length);
	for (size_t i = 0; i < length; i++)
		if (!joined[i])
			joined[i] = ' ';
	length = text_cut_length(joined, length, COMMAND_LINE_MAX_BYTES - 1);
	while (length && joined[length - 1] == ' ')
		length--;
	memcpy(line, joined, length);
	line[length] = '\0';
}

/* -ESRCH if the file is empty, as for a leader that has exited. */
static int read_file(void *line, pid_t tid, const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[COMMAND_LINE_MAX_BYTES];
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));

	(void)tid;
	if (size <= 0)
		return -ESRCH;
	command_line_parse(text, (size_t)size, line);
	return 0;
}

void command_line_read(const char *proc_root, pid_t pid, char line[COMMAND_LINE_MAX_BYTES])
{
	line[0] = '\0';
	proc_try_threads(proc_root, pid, "cmdline", read_file, line);
}
