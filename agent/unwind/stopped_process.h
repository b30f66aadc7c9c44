/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A live process with all its threads held still by ptrace, its registers, memory and mappings.
 * Threads are seized, not attached to: no signal is sent, and one that was stopped by a signal
 * before is so still after it has been let go. For tests and for finding errors: the agent itself
 * never touches a process.
 */
#ifndef AGENT_UNWIND_STOPPED_PROCESS_H
#define AGENT_UNWIND_STOPPED_PROCESS_H

#include <sys/types.h>

#include "agent/unwind/address_space.h"
#include "lib/base/vector.h"
#include "lib/host/register_set.h"
#include "lib/host/remote_memory.h"

struct stopped_thread {
	pid_t tid;
	/** That was about to be delivered when the thread stopped; 0 if there was none. */
	int signal;
	struct register_set set;
};

VECTOR_DEFINE(stopped_threads, struct stopped_thread)

struct stopped_process {
	pid_t pid;
	/** The leader first, as /proc/PID/task has them. */
	struct stopped_threads threads;
	struct process_memory memory;
	struct address_space space;
};

/**
 * Stops all threads of @pid and reads what walks need. -ESRCH: it is gone; -EPERM: it is traced
 * already, or not ours to trace; -EAGAIN: it makes threads faster than they can be stopped; others
 * as /proc and ptrace say. It runs on, as before, after stopped_process_deinit().
 */
int stopped_process_init(struct stopped_process *process, pid_t pid);
void stopped_process_deinit(struct stopped_process *process);

/** A user_walk_read_function; @context is the struct stopped_process. */
int stopped_process_read(void *context, uint64_t address, void *bytes, size_t size);

#endif
