/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses come out of hostile memory: anything is fine to ask for, the kernel checks it.
 */
#include "agent/host/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/host/proc_info.h"

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	return memory->ops->read(memory, address, buffer, bytes);
}

static int process_memory_read(struct remote_memory *memory, uint64_t address, void *buffer,
			       size_t bytes)
{
	struct process_memory *process = (struct process_memory *)memory;
	size_t done = 0;

	/* Offsets of pread are signed; user addresses stay below. */
	if (address > INT64_MAX || bytes > INT64_MAX - address)
		return fail(-EFAULT, "address %#" PRIx64, address);
	while (done < bytes) {
		ssize_t count =
			pread(process->fd, (char *)buffer + done, bytes - done, address + done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno != EIO)
			return fail_errno(-errno, "read of process memory");
		if (count < 0)
			return fail(-EFAULT, "address %#" PRIx64 " is not mapped", address + done);
		/* Only memory whose last user is gone reads as an empty file. */
		if (!count)
			return fail(-ESRCH, "the process is gone");
		done += count;
	}
	return 0;
}

/*
 * A descriptor of a task's memory; -ESRCH if the task has none any more. Then its link to the program is empty; reading a
 * byte would tell as well, but may hang.
 */
static int open_task_memory(void *fd, pid_t tid, const char *path)
{
	_cleanup_(close_fd) int opened = open(path, O_RDONLY | O_CLOEXEC);
	int folder_length = (int)strlen(path) - (int)strlen("mem");
	char link[PATH_MAX], target;

	(void)tid;
	if (opened < 0)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : fail_errno(-errno, "%s", path);
	snprintf(link, sizeof(link), "%.*sexe", folder_length, path);
	if (readlink(link, &target, 1) < 0)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : fail_errno(-errno, "%s", link);
	*(int *)fd = take_fd(opened);
	return 0;
}

void process_memory_init_fd(struct process_memory *process, int fd)
{
	static const struct remote_memory_ops ops = { .read = process_memory_read };

	*process = (struct process_memory){ .memory = { .ops = &ops }, .fd = fd };
}

int process_memory_init(struct process_memory *process, const char *proc_root, pid_t pid)
{
	int fd, err;

	err = proc_try_threads(proc_root, pid, "mem", open_task_memory, &fd);
	if (err)
		return err == -ESRCH ? fail(-ESRCH, "process %d is gone", pid) : err;
	process_memory_init_fd(process, fd);
	return 0;
}

void process_memory_deinit(struct process_memory *process)
{
	/* Without ops it was never set up, and its zero is no descriptor. */
	if (process->memory.ops && process->fd >= 0)
		close(process->fd);
	*process = (struct process_memory){ .fd = -1 };
}
