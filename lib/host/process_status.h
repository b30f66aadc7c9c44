/* SPDX-License-Identifier: Apache-2.0 */
/** What /proc/PID/status says of whose a process is. */
#ifndef LIB_HOST_PROCESS_STATUS_H
#define LIB_HOST_PROCESS_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_status {
	/** The effective one. */
	uid_t user;
	/** The number that the process has in its own, innermost pid namespace. */
	long inner_pid;
	bool has_user;
};

/** -ESRCH if the process is gone, -EBADMSG if the text lacks one of both. */
int process_status_read(const char *proc_root, pid_t pid, struct process_status *status);

#endif
