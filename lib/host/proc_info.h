/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Facts of /proc about processes. @proc_root is "/proc" or a test's folder.
 * Reads through another thread where the leader has exited. -ESRCH: the process is gone.
 */
#ifndef LIB_HOST_PROC_INFO_H
#define LIB_HOST_PROC_INFO_H

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

/** The effective user id of @pid. -ESRCH; others as stat() says. */
int proc_user(const char *proc_root, pid_t pid, uid_t *uid);

/** Numbers, ascending, owned by the caller: free(). */
struct pid_list {
	pid_t *pids;
	uint32_t count;
};

int proc_list_processes(const char *proc_root, struct pid_list *list);

/**
 * A leader that has exited has neither memory nor links any more; its threads have. Calls @try with
 * the path of PID/@name and, as long as that says -ESRCH, with that of its first
 * threads, PROC_THREADS_TRIED at most: enough to find one that lives. Returns what the last call did; the text of an -ESRCH is the caller's to say.
 */
int proc_try_threads(const char *proc_root, pid_t pid, const char *name,
		     int (*try)(void *context, pid_t tid, const char *path), void *context);

/** All threads of @pid. */
int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list);
void pid_list_deinit(struct pid_list *list);

#endif
