/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Facts of /proc about processes. @proc_root is "/proc" or a test's folder.
 * Reads through another thread where the leader has exited. -ESRCH: the process is gone.
 */
#ifndef AGENT_HOST_PROC_INFO_H
#define AGENT_HOST_PROC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROC_PATH_MAX_BYTES = 4096,
	/** Threads that are asked in place of a leader that has exited. */
	PROC_THREADS_TRIED = 16,
	/** The list of processes is cut behind so many. */
	PROC_LIST_MAX = 1 << 22,
};

/** Target of /proc/PID/exe without " (deleted)"; -ENOENT for kernel threads. */
int proc_executable_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES]);

/** Numbers, ascending, owned by the caller: free(). */
struct pid_list {
	pid_t *pids;
	uint32_t count;
};

int proc_list_processes(const char *proc_root, struct pid_list *list);

/**
 * The first threads of @pid, PROC_THREADS_TRIED at most: enough to find one that lives, and not the
 * time that a list of a million takes.
 */
int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list);
void pid_list_deinit(struct pid_list *list);

#endif
