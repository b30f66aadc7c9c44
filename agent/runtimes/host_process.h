/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process of ours that does what may hang (host_entry.h) as the agent sees it: its start, its sockets, whether it
 * hangs, and its end. Nothing here locks: each channel has one user at a time.
 */
#ifndef AGENT_RUNTIMES_HOST_PROCESS_H
#define AGENT_RUNTIMES_HOST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/runtimes/host_entry.h"
#include "agent/runtimes/host_turn.h"
#include "lib/base/child_process.h"

/** The kinds of such processes, and how errors speak of them. */
struct host_kind {
	/** The only argument of the program, and its name. */
	const char *argument;
	const char *name;
	int channel_count;
	/**
	 * Memory that is shared with the process for each channel, and begins with a struct host_turn; the process is handed
	 * a descriptor, too. What is asked lies there, and only descriptors and what is too long go through the socket. 0: none.
	 */
	size_t shared_bytes;
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
		/** The number of the last question. */
		uint32_t asked;
	} channels[HOST_CHANNELS_MAX];
	void *shared;
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
 * Starts @program and waits until all threads are ready, 10 s at most. It is killed when the calling thread ends. @handed_fd
 * is borrowed, and counts only for a kind with shared memory. As child_process_start(), -EHOSTDOWN, -ECANCELED:
 * *@is_cancelled (atomic) was set.
 */
int host_process_start(struct host_process *process, const struct host_kind *kind,
		       const char *program, int handed_fd, const bool *is_cancelled);

/**
 * Waits until a message comes. -EHOSTDOWN: the thread that owes it has ended, or hangs. -ECANCELED: it was in a hurry
 * and had no more time. @waits_ns may be NULL; else *@waits_ns is how long the thread was seen to wait in the kernel.
 */
int host_process_wait(const struct host_process *process, int channel,
		      const struct host_patience *patience, uint64_t *waits_ns);

/** The memory of a channel. */
void *host_process_shared(const struct host_process *process, int channel);

/** Says that a question is there, whose answer host_process_wait() waits for. */
void host_process_ask(struct host_process *process, int channel);

/** Gives up a question that hangs: the process ends when it gets on. False if the answer has come. */
bool host_process_leave(struct host_process *process, int channel);

/** Whether a process whose sockets are silent has ended. */
bool host_process_has_hung_up(const struct host_process *process);

/** Kills the process, and waits for its end @max_ns at most. True if it has ended. */
bool host_process_kill(struct host_process *process, uint64_t max_ns);

/** Whether it has ended; collects it then. */
bool host_process_has_ended(struct host_process *process);

/** Closes the sockets. The process was killed before. */
void host_process_deinit(struct host_process *process);

#endif
