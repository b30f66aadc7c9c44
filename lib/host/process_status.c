/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/process_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/host/line_reader.h"

enum {
	STATUS_MAX_BYTES = 64 << 10,
};

static int take_status_line(void *context, const char *line, size_t length)
{
	struct process_status *status = context;
	char text[256];
	unsigned int user;
	char *last;

	if (length >= sizeof(text))
		return 0;
	memcpy(text, line, length);
	text[length] = '\0';
	if (sscanf(text, "Uid: %*u %u", &user) == 1) {
		status->user = user;
		status->has_user = true;
	} else if (text_starts_with(text, "NSpid:")) {
		last = strrchr(text, '\t');
		status->inner_pid = last ? strtol(last, NULL, 10) : 0;
	}
	return 0;
}

int process_status_read(const char *proc_root, pid_t pid, struct process_status *status)
{
	_cleanup_(close_fd) int fd = -1;
	struct process_status found = { .inner_pid = 0 };
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%d/status", proc_root, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(-ESRCH, "process %d is gone", pid);
	err = lines_of_fd(fd, STATUS_MAX_BYTES, take_status_line, &found);
	if (err)
		return err;
	if (!found.has_user || found.inner_pid <= 0)
		return fail(-EBADMSG, "%s", path);
	*status = found;
	return 0;
}
