/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The process for reads that wait for the lock of a process's memory (proc_host.h), in a pool (host_pool.h):
 * one for all users, with a thread for each caller. If it hangs, it is abandoned and replaced. It ends when the
 * lock is free, or with the agent, since SIGKILL ends a wait for the lock. SIGKILL does not end a wait for a
 * file system, but then no thread of the agent hangs.
 */
#ifndef AGENT_RUNTIMES_PROC_HOSTS_H
#define AGENT_RUNTIMES_PROC_HOSTS_H

#include <stdint.h>

#include "agent/runtimes/proc_home.h"
#include "agent/runtimes/proc_protocol.h"

enum {
	/** Limit of abandoned processes for programs of one user; HOSTS_LOST_MAX for all users. */
	PROC_HOSTS_LEFT_OF_USER_MAX = 8,
	/** Number of users whose waits are recorded. */
	PROC_USERS_MAX = 16,
};

struct proc_hosts;

struct proc_hosts_options {
	/** The program to start; NULL: our own, which must call proc_host_enter(). Borrowed. */
	const char *program;
	/** "/proc", or a test's folder. */
	const char *proc_root;
	/** Time for the keys that come with the maps of a new process, from the request on; 0: 50 ms. */
	uint64_t first_keys_max_ns;
};

/** -errno. Starts the first process without waiting for it. */
int proc_hosts_create(const struct proc_hosts_options *options, struct proc_hosts **hosts);
/** Takes NULL. Processes that hang are abandoned. */
void proc_hosts_destroy(struct proc_hosts *hosts);

/** The home for @channel. Borrowed. stop() of one home stops all. */
struct proc_home *proc_hosts_home(struct proc_hosts *hosts, enum proc_channel channel);

/** Number of processes that were lost and have not ended. */
uint32_t proc_hosts_hanging_count(struct proc_hosts *hosts);

#endif
