/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Facts of /proc about processes, and of /sys about CPUs. @proc_root is "/proc" or a test's folder.
 * Reads through another thread where the leader has exited. -ESRCH: the process is gone.
 */
#ifndef AGENT_HOST_PROC_INFO_H
#define AGENT_HOST_PROC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	/** As the kernel's TASK_COMM_LEN, NUL included. */
	PROC_COMM_BYTES = 16,
	PROC_PATH_MAX_BYTES = 4096,
	/** Hex digits of a container's id, NUL included. */
	CONTAINER_ID_BYTES = 65,
	/** Lists are cut behind so many. */
	PROC_LIST_MAX = 1 << 22,
};

struct proc_stat {
	char comm[PROC_COMM_BYTES];
	/** 'R', 'S', 'Z', ... as in proc(5) */
	char state;
	pid_t parent_pid;
	bool is_kernel_thread;
	uint32_t thread_count;
	/** Since boot, clock ticks (sysconf(_SC_CLK_TCK) in a second). */
	uint64_t start_time_ticks;
};

/** /proc/PID/stat; -EBADMSG if it is not as proc(5) has it. */
int proc_stat_read(const char *proc_root, pid_t pid, struct proc_stat *stat);

/** The comm of the leader, or of thread @tid with @pid its process; may hold any byte but NUL. */
int proc_comm_read(const char *proc_root, pid_t pid, char comm[PROC_COMM_BYTES]);
int proc_thread_comm_read(const char *proc_root, pid_t pid, pid_t tid, char comm[PROC_COMM_BYTES]);

/** Target of /proc/PID/exe without " (deleted)"; -ENOENT for kernel threads. */
int proc_executable_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES]);

/** Numbers, ascending, owned by the caller: free(). */
struct pid_list {
	pid_t *pids;
	uint32_t count;
};

int proc_list_processes(const char *proc_root, struct pid_list *list);
int proc_list_threads(const char *proc_root, pid_t pid, struct pid_list *list);
void pid_list_deinit(struct pid_list *list);

/** Path of the process's cgroup (v2, else the first v1 line); -ENOENT without any. */
int proc_cgroup_path(const char *proc_root, pid_t pid, char path[PROC_PATH_MAX_BYTES]);

/**
 * The container's id within a cgroup path: its last 64 hex digits in a row that stand by
 * themselves (docker, containerd, cri-o, podman). -ENOENT without one: then it is no container or
 * one of a kind that is not known.
 */
int container_id_of_cgroup(const char *cgroup_path, char id[CONTAINER_ID_BYTES]);

#endif
