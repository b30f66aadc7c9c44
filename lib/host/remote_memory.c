/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses come from hostile memory. Any address may be read, since the kernel checks it.
 */
#include "lib/host/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/proc_info.h"

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	return memory->ops->read(memory, address, buffer, bytes);
}

bool remote_memory_is_same(struct remote_memory *memory)
{
	return !memory->ops->is_same || memory->ops->is_same(memory);
}

void remote_memory_destroy(struct remote_memory *memory)
{
	if (memory && memory->ops->destroy)
		memory->ops->destroy(memory);
}

static int process_memory_read(struct remote_memory *memory, uint64_t address, void *buffer,
			       size_t bytes)
{
	struct process_memory *process = (struct process_memory *)memory;
	struct iovec local = { .iov_base = buffer, .iov_len = bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = bytes };
	ssize_t count;

	if (!process->identity.stack_start)
		return fail(-ESRCH, "the process is gone");
	if (!bytes)
		return 0;
	process->was_read = true;
	count = process_vm_readv(process->identity.tid, &local, 1, &remote, 1, 0);
	if (count == (ssize_t)bytes)
		return 0;
	if (count < 0 && errno == ESRCH)
		return fail(-ESRCH, "the process is gone");
	/* The kernel reports EINVAL for an impossible address. */
	if (count < 0 && errno != EFAULT && errno != EINVAL)
		return fail_errno(-errno, "cannot read process memory");
	return fail(-EFAULT, "address %#" PRIx64 " is not mapped", address);
}

/* All zero if there is none. */
static struct program_identity read_identity(int fd)
{
	struct program_identity identity = { 0 };
	char text[2048];
	ssize_t count = pread(fd, text, sizeof(text) - 1, 0);
	const char *rest;

	if (count <= 0)
		return identity;
	text[count] = '\0';
	/* The name, in parentheses, may hold anything. */
	rest = strrchr(text, ')');
	if (!rest || sscanf(text, "%d", &identity.tid) != 1 ||
	    sscanf(rest + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu"
		   " %*s %*s %*s %*s %*s %llu",
		   &identity.start_time, &identity.stack_start) != 2)
		return (struct program_identity){ 0 };
	return identity;
}

/* A descriptor of a task that has memory; -ESRCH if it has none any more. */
static int open_task(void *fd, pid_t tid, const char *path)
{
	_cleanup_(close_fd) int opened = open(path, O_RDONLY | O_CLOEXEC);

	(void)tid;
	if (opened < 0)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : fail_errno(-errno, "%s", path);
	if (!read_identity(opened).stack_start)
		return -ESRCH;
	*(int *)fd = take_fd(opened);
	return 0;
}

static bool process_memory_is_same(struct remote_memory *memory)
{
	struct process_memory *process = (struct process_memory *)memory;
	const struct program_identity *known = &process->identity;
	struct program_identity now;

	if (!known->stack_start || !process->was_read)
		return true;
	now = read_identity(process->fd);
	if (now.tid == known->tid && now.start_time == known->start_time &&
	    now.stack_start == known->stack_start) {
		process->was_read = false;
		return true;
	}
	process->identity = (struct program_identity){ 0 };
	return false;
}

static void process_memory_destroy(struct remote_memory *memory)
{
	process_memory_deinit((struct process_memory *)memory);
	free(memory);
}

static void init_fd(struct process_memory *process, int fd)
{
	static const struct remote_memory_ops ops = {
		.read = process_memory_read,
		.is_same = process_memory_is_same,
		.destroy = process_memory_destroy,
	};

	*process = (struct process_memory){
		.memory = { .ops = &ops },
		.fd = fd,
		.identity = read_identity(fd),
	};
}

int process_memory_open(const char *proc_root, pid_t pid, int *fd)
{
	char path[PATH_MAX];
	int err;

	/* This is the task's stat file; for the process's the kernel would visit all threads. */
	snprintf(path, sizeof(path), "%s/%d/task/%d/stat", proc_root, pid, pid);
	err = open_task(fd, pid, path);
	if (err == -ESRCH)
		err = proc_try_threads(proc_root, pid, "stat", open_task, fd);
	return err == -ESRCH ? fail(-ESRCH, "process %d is gone", pid) : err;
}

int process_memory_init(struct process_memory *process, const char *proc_root, pid_t pid)
{
	int fd = -1, err = process_memory_open(proc_root, pid, &fd);

	if (!err)
		init_fd(process, fd);
	return err;
}

struct remote_memory *process_memory_create(int fd)
{
	struct process_memory *process = calloc(1, sizeof(*process));

	if (!process) {
		close(fd);
		return NULL;
	}
	init_fd(process, fd);
	return &process->memory;
}

void process_memory_deinit(struct process_memory *process)
{
	/* Without ops the struct was never set up, and fd 0 is no descriptor of ours. */
	if (process->memory.ops && process->fd >= 0)
		close(process->fd);
	*process = (struct process_memory){ .fd = -1 };
}
