/* SPDX-License-Identifier: Apache-2.0 */
/** Owner and pid of a process, from /proc/PID/status. */
#ifndef LIB_HOST_PROCESS_STATUS_H
#define LIB_HOST_PROCESS_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_status {
	/** Effective user id. */
	uid_t user;
	/** The process's id in its own, innermost pid namespace. */
	long inner_pid;
	bool has_user;
};

/** -ESRCH if the process is gone, -EBADMSG if the text lacks one of the two. */
int process_status_read(const char *proc_root, pid_t pid, struct process_status *status);

#endif
