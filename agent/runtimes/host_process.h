/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process of ours that does what may hang (host_entry.h) as the agent sees it: its start, its sockets, whether it
 * hangs, and its end. Nothing here locks: each channel has one user at a time.
 */
#ifndef AGENT_RUNTIMES_HOST_PROCESS_H
#define AGENT_RUNTIMES_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/child_process.h"
#include "agent/runtimes/host_entry.h"

/** The kinds of such processes, and how errors speak of them. */
struct host_kind {
	/** The only argument of the program, and its name. */
	const char *argument;
	const char *name;
	int channel_count;
	/** "hold runtimes" */
	const char *job;
	/** "memory that does not answer" */
	const char *fault;
	/** Names the thing that hangs: "its memory or a file of it" */
	const char *subject;
};

struct host_process {
	struct child_process child;
	const struct host_kind *kind;
	struct {
		int socket;
		/** The thread that serves it. */
		int32_t tid;
	} channels[HOST_CHANNELS_MAX];
};

/** How long an answer is waited for. */
struct host_patience {
	/** However busy the process is. */
	uint64_t max_ns;
	/** A thread that waits in the kernel, and has not run for so long, hangs. */
	uint64_t hang_ns;
	/**
	 * And so does one that has waited there for so long in all: it reads from somebody who answers slowly, maybe on
	 * purpose. 0: no limit.
	 */
	uint64_t waits_ns;
	/** Atomic; NULL: never. Once it is set, the wait goes on for so long at most. */
	const bool *is_hurried;
	uint64_t hurried_ns;
};

/**
 * Starts @program and waits until all threads are ready, 10 s at most. It is killed when the calling thread ends. As
 * child_process_start(), -EHOSTDOWN, -ECANCELED: *@is_cancelled (atomic) was set.
 */
int host_process_start(struct host_process *process, const struct host_kind *kind,
		       const char *program, const bool *is_cancelled);

/**
 * Waits until a message comes. -EHOSTDOWN: the thread that owes it has ended, or hangs. -ECANCELED: it was in a hurry
 * and had no more time.
 */
int host_process_wait(const struct host_process *process, int channel,
		      const struct host_patience *patience);

/** Kills the process, and waits for its end @max_ns at most. True if it has ended. */
bool host_process_kill(struct host_process *process, uint64_t max_ns);

/** Whether it has ended; collects it then. */
bool host_process_has_ended(struct host_process *process);

/** Closes the sockets. The process was killed before. */
void host_process_deinit(struct host_process *process);

#endif
