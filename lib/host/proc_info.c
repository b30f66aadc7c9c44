/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process chooses the path of its executable and its number of threads.
 */
#include "lib/host/proc_info.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"

VECTOR_DEFINE(pid_vector, pid_t)

enum {
	/* Enough for a name and the fields up to the parent. */
	STAT_START_BYTES = 256,
};

/* Reads the target of a link, and cuts it if it is too long; -errno of readlink, without a text. */
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

int proc_user(const char *proc_root, pid_t pid, uid_t *uid)
{
	struct stat status;
	char path[PATH_MAX];

	/* The folder itself is read: for processes that may not be inspected, the files in it are root's. */
	snprintf(path, sizeof(path), "%s/%d", proc_root, pid);
	if (stat(path, &status))
		return errno == ENOENT || errno == ESRCH ? fail(-ESRCH, "process %d is gone", pid) :
							   fail_errno(-errno, "%s", path);
	*uid = status.st_uid;
	return 0;
}

/* Reads the beginning of PID/@name as a text. -ESRCH. */
static int read_text(const char *proc_root, pid_t pid, const char *name, char *text,
		     size_t capacity)
{
	_cleanup_(close_fd) int fd = -1;
	char path[PATH_MAX];
	ssize_t size;

	snprintf(path, sizeof(path), "%s/%d/%s", proc_root, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, capacity - 1);
	if (size <= 0)
		return fail(-ESRCH, "process %d is gone", pid);
	text[size] = '\0';
	return 0;
}

int proc_comm(const char *proc_root, pid_t pid, char comm[PROC_COMM_MAX_BYTES])
{
	char text[PROC_COMM_MAX_BYTES];
	int err = read_text(proc_root, pid, "comm", text, sizeof(text));
	size_t length;

	if (err)
		return err;
	length = strlen(text);
	/* A name may have line ends of its own. */
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	memcpy(comm, text, sizeof(text));
	return 0;
}

int proc_parent(const char *proc_root, pid_t pid, pid_t *parent)
{
	char text[STAT_START_BYTES];
	char name[32];
	const char *end;
	int number, err;

	/* The leader's own state: that of the process has the times of all threads added up. */
	snprintf(name, sizeof(name), "task/%d/stat", pid);
	err = read_text(proc_root, pid, name, text, sizeof(text));
	if (err)
		return err;
	/* "PID (NAME) STATE PARENT ..." (proc_pid_stat(5)). No field behind the name has a parenthesis. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", &number) != 1 || number < 0)
		return fail(-EBADMSG, "the state of process %d cannot be read", pid);
	*parent = number;
	return 0;
}

static int compare_pids(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return a < b ? -1 : a > b;
}

/* The numbers among a folder's entries, at most @limit of them. */
static int list_numbers(const char *path, uint32_t limit, struct pid_list *list)
{
	struct pid_vector pids = { 0 };
	DIR *folder = opendir(path);
	struct dirent *entry;
	int err = 0;

	if (!folder)
		return errno == ENOENT || errno == ESRCH ? fail(-ESRCH, "no %s", path) :
							   fail_errno(-errno, "%s", path);
	while (!err && pids.count < limit && (entry = readdir(folder))) {
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
	return list_numbers(proc_root, PROC_LIST_MAX, list);
}

static int list_threads(const char *proc_root, pid_t pid, uint32_t limit, struct pid_list *list)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/task", proc_root, pid);
	return list_numbers(path, limit, list);
}

int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list)
{
	return list_threads(proc_root, pid, PROC_LIST_MAX, list);
}

int proc_try_threads(const char *proc_root, pid_t pid, const char *name,
		     int (*try)(void *context, pid_t tid, const char *path), void *context)
{
	_cleanup_(pid_list_deinit) struct pid_list threads = { 0 };
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%d/%s", proc_root, pid, name);
	err = try(context, pid, path);
	if (err != -ESRCH || list_threads(proc_root, pid, PROC_THREADS_TRIED, &threads))
		return err;
	for (uint32_t i = 0; err == -ESRCH && i < threads.count; i++) {
		snprintf(path, sizeof(path), "%s/%d/task/%d/%s", proc_root, pid, threads.pids[i],
			 name);
		err = try(context, threads.pids[i], path);
	}
	return err;
}

static int try_executable(void *context, pid_t tid, const char *path)
{
	int err = read_executable_link(path, context);

	(void)tid;
	return err == -ENOENT ? -ESRCH : err;
}

int proc_executable_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES])
{
	char folder[PATH_MAX], result[PROC_PATH_MAX_BYTES];
	int err = proc_try_threads(proc_root, pid, "exe", try_executable, result);

	if (!err) {
		memcpy(path, result, sizeof(result));
		return 0;
	}
	snprintf(folder, sizeof(folder), "%s/%d", proc_root, pid);
	if (access(folder, F_OK))
		return fail(-ESRCH, "process %d is gone", pid);
	return fail_errno(err == -ESRCH ? -ENOENT : err, "cannot read the executable of process %d",
			  pid);
}

void pid_list_deinit(struct pid_list *list)
{
	free(list->pids);
	*list = (struct pid_list){ 0 };
}
