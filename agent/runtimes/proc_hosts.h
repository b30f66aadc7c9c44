/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The process that reads what waits for the lock of a process's memory (proc_host.h), in a pool (host_pool.h): one for
 * all users, with a thread for each caller. Where it hangs it is left behind and another one takes its place. It ends
 * when the lock is free, or with the agent: such a wait ends by SIGKILL, and where it has become one for a file system,
 * which does not, it is no thread of the agent's.
 */
#ifndef AGENT_RUNTIMES_PROC_HOSTS_H
#define AGENT_RUNTIMES_PROC_HOSTS_H

#include <stdint.h>

#include "agent/runtimes/proc_home.h"
#include "agent/runtimes/proc_protocol.h"

enum {
	/** Processes that are left behind for programs of one user; HOSTS_LOST_MAX of all. */
	PROC_HOSTS_LEFT_OF_USER_MAX = 8,
	/** Users whose waits are remembered. */
	PROC_USERS_MAX = 16,
};

struct proc_hosts;

struct proc_hosts_options {
	/** The program to start; NULL: ours, which must call proc_host_enter(). Borrowed. */
	const char *program;
	/** "/proc"; a folder of their own in tests. */
	const char *proc_root;
};

/** -errno. The first process is started at once, and not waited for. */
int proc_hosts_create(const struct proc_hosts_options *options, struct proc_hosts **hosts);
/** Takes NULL. Processes that hang are left behind. */
void proc_hosts_destroy(struct proc_hosts *hosts);

/** Borrowed. stop() of one stops all. */
struct proc_home *proc_hosts_home(struct proc_hosts *hosts, enum proc_channel channel);

/** How many were lost and have not ended. */
uint32_t proc_hosts_hanging_count(struct proc_hosts *hosts);

#endif
