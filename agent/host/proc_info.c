/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process chooses the path of its executable, and how many threads it has.
 */
#include "agent/host/proc_info.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/vector.h"

VECTOR_DEFINE(pid_vector, pid_t)

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
		for (uint32_t i = 0; err && i < threads.count; i++) {
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

int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/task", proc_root, pid);
	return list_numbers(path, PROC_THREADS_TRIED, list);
}

void pid_list_deinit(struct pid_list *list)
{
	free(list->pids);
	*list = (struct pid_list){ 0 };
}
