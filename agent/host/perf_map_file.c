/* SPDX-License-Identifier: Apache-2.0 */
/* The process can put anything at the path: see mapped_file.h for how it is opened. */
#include "agent/host/perf_map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/text.h"
#include "agent/host/line_reader.h"

enum {
	STATUS_MAX_BYTES = 64 << 10,
};

struct status {
	uid_t user;
	/* In its innermost pid namespace. */
	long inner_pid;
	bool has_user;
};

static int take_status_line(void *context, const char *line, size_t length)
{
	struct status *status = context;
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

static int read_status(const char *proc_root, pid_t pid, struct status *status)
{
	_cleanup_(close_fd) int fd = -1;
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%d/status", proc_root, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(-ESRCH, "process %d is gone", pid);
	*status = (struct status){ .inner_pid = 0 };
	err = lines_of_fd(fd, STATUS_MAX_BYTES, take_status_line, status);
	if (err)
		return err;
	return status->has_user && status->inner_pid > 0 ? 0 : fail(-EBADMSG, "%s", path);
}

int perf_map_open(const char *proc_root, pid_t pid, int64_t since_ns, int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int opened = -1;
	struct file_key opened_key;
	struct stat file_status;
	struct status status;
	char path[64];
	int err;

	err = read_status(proc_root, pid, &status);
	if (err)
		return err;
	snprintf(path, sizeof(path), "tmp/perf-%ld.map", status.inner_pid);
	err = mapped_file_open_in_root(proc_root, pid, path, &opened, &opened_key);
	if (err)
		return fail_errno(err, "%s of process %d", path, pid);
	if (fstat(opened, &file_status))
		return fail_errno(-errno, "fstat of %s", path);
	if (file_status.st_uid != 0 && file_status.st_uid != status.user)
		return fail(-ENOENT, "%s of process %d is somebody else's", path, pid);
	if (opened_key.mtime_ns < since_ns)
		return fail(-ENOENT, "%s is older than process %d", path, pid);
	*fd = take_fd(opened);
	*key = opened_key;
	return 0;
}
