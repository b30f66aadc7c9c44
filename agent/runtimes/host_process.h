/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The agent's side of a host process, a process of ours for work that may hang (host_entry.h): its start, its
 * sockets, the detection of hangs, and its end. There is no lock: each channel has one user at a time.
 */
#ifndef AGENT_RUNTIMES_HOST_PROCESS_H
#define AGENT_RUNTIMES_HOST_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/runtimes/host_entry.h"
#include "agent/runtimes/host_turn.h"
#include "lib/base/child_process.h"

/** A kind of host process, and texts for errors. */
struct host_kind {
	/** The only argument of the program, and the process's name. */
	const char *argument;
	const char *name;
	int channel_count;
	/**
	 * Size of the memory shared with the process for each channel, which begins with a struct host_turn.
	 * The process is handed a descriptor, too. Requests are passed in this memory; only descriptors and
	 * longer data go through the socket. 0: none.
	 */
	size_t shared_bytes;
	/** "hold runtimes" */
	const char *job;
	/** "memory that does not answer" */
	const char *fault;
	/** The thing that hangs: "its memory or a file of it" */
	const char *subject;
};

struct host_process {
	struct child_process child;
	const struct host_kind *kind;
	struct {
		int socket;
		/** Tid of the thread that serves the channel. */
		int32_t tid;
		/** Number of the last request. */
		uint32_t asked;
	} channels[HOST_CHANNELS_MAX];
	void *shared;
};

/** Limits of the wait for an answer. */
struct host_patience {
	/** Total limit, however busy the process is. */
	uint64_t max_ns;
	/** A thread that waits in the kernel and has not run for this time hangs. */
	uint64_t hang_ns;
	/**
	 * A thread that has waited in the kernel for this time in total hangs too: it reads from a server that
	 * answers slowly, maybe on purpose. 0: no limit.
	 */
	uint64_t waits_ns;
	/** Atomic; may be NULL. Once it is set, the wait goes on for at most hurried_ns. */
	const bool *is_hurried;
	uint64_t hurried_ns;
};

/**
 * Starts @program and waits until all threads are ready, 10 s at most. The process is killed when the calling
 * thread ends, or with a launcher (lib/base/launcher.h) when the agent does. @handed_fd is borrowed, and used only for a kind with shared memory. Errors as of
 * child_process_start(), -EHOSTDOWN, -ECANCELED: *@is_cancelled (atomic) was set.
 */
int host_process_start(struct host_process *process, const struct host_kind *kind,
		       const char *program, int handed_fd, const bool *is_cancelled);

/**
 * Waits for a message. -EHOSTDOWN: the thread that owes it has ended or hangs. -ECANCELED: the hurried time is
 * over. *@waits_ns (may be NULL) is the time for which the thread was seen to wait in the kernel.
 */
int host_process_wait(const struct host_process *process, int channel,
		      const struct host_patience *patience, uint64_t *waits_ns);

/** The shared memory of a channel. */
void *host_process_shared(const struct host_process *process, int channel);

/** Signals a request in the shared memory; host_process_wait() waits for its answer. */
void host_process_ask(struct host_process *process, int channel);

/** Gives up a request that hangs; the process ends when the request returns. False if the answer has come. */
bool host_process_leave(struct host_process *process, int channel);

/** Whether a process whose sockets are silent has ended. */
bool host_process_has_hung_up(const struct host_process *process);

/** Kills the process, and waits at most @max_ns for its end. True if it has ended. */
bool host_process_kill(struct host_process *process, uint64_t max_ns);

/** Whether the process has ended; reaps it then. */
bool host_process_has_ended(struct host_process *process);

/** Closes the sockets. The process must have been killed before. */
void host_process_deinit(struct host_process *process);

#endif
