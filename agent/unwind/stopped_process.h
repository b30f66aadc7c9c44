/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A live process whose threads are all stopped by ptrace, with its registers, memory and mappings. Threads are
 * seized, not attached to: no signal is sent, and a thread that was stopped by a signal before is still stopped
 * after its release. For tests and for debugging: the agent itself never stops a process.
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
	/** Signal that was about to be delivered when the thread stopped; 0 if there was none. */
	int signal;
	struct register_set set;
};

VECTOR_DEFINE(stopped_threads, struct stopped_thread)

struct stopped_process {
	pid_t pid;
	/** Threads in the order of /proc/PID/task, the leader first. */
	struct stopped_threads threads;
	struct process_memory memory;
	struct address_space space;
};

/**
 * Stops all threads of @pid and reads the data for unwinding; @languages as in address_space_init(). -ESRCH: it is gone; -EPERM: it is traced already,
 * or may not be traced by us; -EAGAIN: it makes threads faster than they can be stopped; or an error of /proc
 * or ptrace. It continues as before after stopped_process_deinit().
 */
int stopped_process_init(struct stopped_process *process, pid_t pid, uint32_t languages);
void stopped_process_deinit(struct stopped_process *process);

/**
 * Reads the mappings again, for callers that have let the process run. Executables keep their ids. An error of /proc: the
 * mappings are as before.
 */
int stopped_process_update(struct stopped_process *process);

/** Reads the registers of a stopped thread again. */
int stopped_thread_read(struct stopped_thread *thread);

/** A user_unwind_read_function; @context is the struct stopped_process. */
int stopped_process_read(void *context, uint64_t address, void *bytes, size_t size);

#endif
