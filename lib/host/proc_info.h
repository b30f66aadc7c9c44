/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Facts about processes from /proc. @proc_root is "/proc" or a test's folder. Where the leader has exited,
 * another thread's files are read. -ESRCH: the process is gone.
 */
#ifndef LIB_HOST_PROC_INFO_H
#define LIB_HOST_PROC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROC_PATH_MAX_BYTES = 4096,
	/** Number of threads that are tried instead of a leader that has exited. */
	PROC_THREADS_TRIED = 16,
	/** Longer lists of processes are cut. */
	PROC_LIST_MAX = 1 << 22,
};

/** Target of /proc/PID/exe without " (deleted)"; -ENOENT for kernel threads. */
int proc_executable_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES]);

/** The effective user id of @pid. -ESRCH, or an error of stat(). */
int proc_user(const char *proc_root, pid_t pid, uid_t *uid);

enum {
	/** Bytes of a thread's name with its NUL; kernel threads have longer ones, which are cut. */
	PROC_COMM_MAX_BYTES = 64,
};

/** The name of the leader of @pid, any byte but NUL. -ESRCH. */
int proc_comm(const char *proc_root, pid_t pid, char comm[PROC_COMM_MAX_BYTES]);

/**
 * The pid of the parent of @pid; 0: it is outside of the agent's pid namespace. The kernel takes a reference of the process's
 * memory for that (agent/runtimes/proc_home.h). -ESRCH, -EBADMSG.
 */
int proc_parent(const char *proc_root, pid_t pid, pid_t *parent);

/** Ids in ascending order; the caller frees them by pid_list_deinit(). */
struct pid_list {
	pid_t *pids;
	uint32_t count;
};

int proc_list_processes(const char *proc_root, struct pid_list *list);

/**
 * Calls @try with the path of PID/@name and, as long as that returns -ESRCH, with the path of its first
 * threads, PROC_THREADS_TRIED at most: enough to find one that lives. A leader that has exited has neither
 * memory nor links any more, but its threads have. Returns the result of the last call; the caller sets the
 * text of an -ESRCH.
 */
int proc_try_threads(const char *proc_root, pid_t pid, const char *name,
		     int (*try)(void *context, pid_t tid, const char *path), void *context);

/** All threads of @pid. */
int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list);
void pid_list_deinit(struct pid_list *list);

#endif
