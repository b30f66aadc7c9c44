/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc are small here and read whole into a buffer; what does not fit is cut, except
 * where that would change a meaning. Of their content a process chooses its comm, its cgroup's
 * name and the path of its executable.
 */
#include "agent/host/proc_info.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/vector.h"

enum {
	STAT_BYTES = 1024,
	CGROUP_BYTES = 16384,
	CONTAINER_ID_DIGITS = CONTAINER_ID_BYTES - 1,
	/* PF_KTHREAD of include/linux/sched.h: unchanged since 2.6. */
	TASK_FLAG_KERNEL_THREAD = 0x00200000,
};

VECTOR_DEFINE(pid_vector, pid_t)

/* Reads a file into @buffer with a NUL behind, cut to fit; gives the number of bytes. */
static int read_small_file(const char *path, char *buffer, size_t capacity, size_t *bytes)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : fail_errno(-errno, "%s", path);
	while (done < capacity - 1) {
		ssize_t count = read(fd, buffer + done, capacity - 1 - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return errno == ESRCH ? -ESRCH : fail_errno(-errno, "%s", path);
		if (!count)
			break;
		done += count;
	}
	buffer[done] = '\0';
	*bytes = done;
	return 0;
}

static int read_process_file(const char *proc_root, pid_t pid, const char *name, char *buffer,
			     size_t capacity, size_t *bytes)
{
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%d/%s", proc_root, pid, name);
	err = read_small_file(path, buffer, capacity, bytes);
	return err == -ENOENT || err == -ESRCH ? fail(-ESRCH, "process %d is gone", pid) : err;
}

static void copy_comm(char comm[PROC_COMM_BYTES], const char *text, size_t length)
{
	if (length > PROC_COMM_BYTES - 1)
		length = PROC_COMM_BYTES - 1;
	memcpy(comm, text, length);
	memset(comm + length, 0, PROC_COMM_BYTES - length);
}

int proc_stat_read(const char *proc_root, pid_t pid, struct proc_stat *stat)
{
	char text[STAT_BYTES];
	const char *comm, *comm_end;
	uint64_t flags, start_time;
	struct proc_stat result;
	size_t bytes;
	int threads, fields, err;

	err = read_process_file(proc_root, pid, "stat", text, sizeof(text), &bytes);
	if (err)
		return err;
	/* The comm may hold anything, also ") R 1": it ends at the last bracket. */
	comm = strchr(text, '(');
	comm_end = strrchr(text, ')');
	if (!comm || !comm_end || comm_end < comm)
		return fail(-EBADMSG, "stat of process %d", pid);
	copy_comm(result.comm, comm + 1, comm_end - comm - 1);
	fields = sscanf(comm_end + 1,
			" %c %d %*d %*d %*d %*d %" SCNu64 " %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
			" %d %*d %" SCNu64,
			&result.state, &result.parent_pid, &flags, &threads, &start_time);
	if (fields != 5)
		return fail(-EBADMSG, "stat of process %d", pid);
	result.is_kernel_thread = flags & TASK_FLAG_KERNEL_THREAD;
	result.thread_count = threads > 0 ? threads : 0;
	result.start_time_ticks = start_time;
	*stat = result;
	return 0;
}

static int read_comm(const char *proc_root, pid_t pid, const char *name, char comm[PROC_COMM_BYTES])
{
	char text[PROC_COMM_BYTES + 2];
	size_t bytes;
	int err;

	err = read_process_file(proc_root, pid, name, text, sizeof(text), &bytes);
	if (err)
		return err;
	if (bytes && text[bytes - 1] == '\n')
		bytes--;
	copy_comm(comm, text, bytes);
	return 0;
}

int proc_comm_read(const char *proc_root, pid_t pid, char comm[PROC_COMM_BYTES])
{
	return read_comm(proc_root, pid, "comm", comm);
}

int proc_thread_comm_read(const char *proc_root, pid_t pid, pid_t tid, char comm[PROC_COMM_BYTES])
{
	char name[64];

	snprintf(name, sizeof(name), "task/%d/comm", tid);
	return read_comm(proc_root, pid, name, comm);
}

/* The target of a link, cut off if it is longer; -errno of readlink, without a text. */
static int read_executable_link(const char *link, char path[PROC_PATH_MAX_BYTES])
{
	static const char mark[] = " (deleted)";
	ssize_t length = readlink(link, path, PROC_PATH_MAX_BYTES - 1);

	if (length < 0)
		return -errno;
	path[length] = '\0';
	if (length >= (ssize_t)sizeof(mark) && !strcmp(path + length - sizeof(mark) + 1, mark))
		path[length - sizeof(mark) + 1] = '\0';
	return 0;
}

int proc_executable_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES])
{
	_cleanup_(pid_list_deinit) struct pid_list threads = { 0 };
	char link[PATH_MAX], result[PROC_PATH_MAX_BYTES];
	int err;

	snprintf(link, sizeof(link), "%s/%d/exe", proc_root, pid);
	err = read_executable_link(link, result);
	/* The links of a leader that has exited lead nowhere. */
	if (err == -ENOENT && !proc_list_threads(proc_root, pid, &threads)) {
		for (uint32_t i = 0; err && i < threads.count && i < 16; i++) {
			snprintf(link, sizeof(link), "%s/%d/task/%d/exe", proc_root, pid,
				 threads.pids[i]);
			err = read_executable_link(link, result);
		}
	}
	if (!err) {
		memcpy(path, result, sizeof(result));
		return 0;
	}
	snprintf(link, sizeof(link), "%s/%d", proc_root, pid);
	if (err == -ESRCH || access(link, F_OK))
		return fail(-ESRCH, "process %d is gone", pid);
	return fail_errno(err, "executable of process %d", pid);
}

static int compare_pids(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return a < b ? -1 : a > b;
}

/* The numbers among a folder's entries. */
static int list_numbers(const char *path, struct pid_list *list)
{
	struct pid_vector pids = { 0 };
	DIR *folder = opendir(path);
	struct dirent *entry;
	int err = 0;

	if (!folder)
		return errno == ENOENT || errno == ESRCH ? fail(-ESRCH, "no %s", path) :
							   fail_errno(-errno, "%s", path);
	while (!err && pids.count < PROC_LIST_MAX && (entry = readdir(folder))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && !*end && number > 0 &&
		    number <= INT_MAX)
			err = pid_vector_push(&pids, number);
	}
	closedir(folder);
	if (err) {
		pid_vector_deinit(&pids);
		return fail(err, "no memory for a list of pids");
	}
	if (pids.count)
		qsort(pids.items, pids.count, sizeof(pid_t), compare_pids);
	*list = (struct pid_list){ .pids = pids.items, .count = pids.count };
	return 0;
}

int proc_list_processes(const char *proc_root, struct pid_list *list)
{
	return list_numbers(proc_root, list);
}

int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/task", proc_root, pid);
	return list_numbers(path, list);
}

void pid_list_deinit(struct pid_list *list)
{
	free(list->pids);
	*list = (struct pid_list){ 0 };
}

/* Lines are hierarchy:controllers:path; version 2 has 0 and no controllers. */
int proc_cgroup_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES])
{
	const char *found = NULL, *line_end;
	char text[CGROUP_BYTES];
	size_t bytes, length;
	int err;

	err = read_process_file(proc_root, pid, "cgroup", text, sizeof(text), &bytes);
	if (err)
		return err;
	for (const char *line = text; *line; line = *line_end ? line_end + 1 : line_end) {
		const char *controllers = strchr(line, ':');
		const char *name = controllers ? strchr(controllers + 1, ':') : NULL;

		line_end = strchrnul(line, '\n');
		if (!name || name > line_end)
			continue;
		if (!found || !strncmp(line, "0::", 3))
			found = name + 1;
	}
	if (!found)
		return fail(-ENOENT, "process %d is in no cgroup", pid);
	length = strchrnul(found, '\n') - found;
	if (length >= PROC_PATH_MAX_BYTES)
		length = PROC_PATH_MAX_BYTES - 1;
	memcpy(path, found, length);
	path[length] = '\0';
	return 0;
}

int container_id_of_cgroup(const char *cgroup_path, char id[CONTAINER_ID_BYTES])
{
	const char *found = NULL, *cursor = cgroup_path;

	while (*cursor) {
		size_t digits = strspn(cursor, "0123456789abcdef");
		bool stands_alone =
			(cursor == cgroup_path || !isalnum((unsigned char)cursor[-1])) &&
			!isalnum((unsigned char)cursor[digits]);

		if (digits == CONTAINER_ID_DIGITS && stands_alone)
			found = cursor;
		cursor += digits ? digits : 1;
	}
	if (!found)
		return fail(-ENOENT, "no container id in %.100s", cgroup_path);
	memcpy(id, found, CONTAINER_ID_DIGITS);
	id[CONTAINER_ID_DIGITS] = '\0';
	return 0;
}
