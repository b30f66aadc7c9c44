/* SPDX-License-Identifier: Apache-2.0 */
/* The process can put anything at the path: see mapped_file.h for how it is opened. */
#include "lib/host/perf_map_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/process_status.h"

int perf_map_open(const char *proc_root, pid_t pid, int64_t since_ns, int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int opened = -1;
	struct file_key opened_key;
	struct stat file_status;
	struct process_status status;
	char path[64];
	int err;

	err = process_status_read(proc_root, pid, &status);
	if (err)
		return err;
	snprintf(path, sizeof(path), "tmp/perf-%ld.map", status.inner_pid);
	err = mapped_file_open_in_root(proc_root, pid, path, &opened, &opened_key);
	if (err)
		return fail_errno(err, "%s of process %d", path, pid);
	if (fstat(opened, &file_status))
		return fail_errno(-errno, "cannot stat %s", path);
	if (file_status.st_uid != 0 && file_status.st_uid != status.user)
		return fail(-ENOENT, "%s of process %d is somebody else's", path, pid);
	if (opened_key.mtime_ns < since_ns)
		return fail(-ENOENT, "%s is older than process %d", path, pid);
	*fd = take_fd(opened);
	*key = opened_key;
	return 0;
}
