/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process that holds runtimes (runtime_host.h) as the agent sees it: its start, its sockets, whether it hangs, and
 * its end. Nothing here locks: each channel has one user at a time.
 */
#ifndef AGENT_RUNTIMES_HOST_PROCESS_H
#define AGENT_RUNTIMES_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/child_process.h"
#include "agent/runtimes/host_protocol.h"

struct host_process {
	struct child_process child;
	struct {
		int socket;
		/** The thread that serves it. */
		int32_t tid;
	} channels[HOST_CHANNEL_COUNT];
};

/**
 * Starts @program and waits until both threads are ready, 10 s at most. It is killed when the calling thread ends. As
 * child_process_start(), -EHOSTDOWN, -ECANCELED: *@is_cancelled (atomic) was set.
 */
int host_process_start(struct host_process *process, const char *program, const bool *is_cancelled);

/**
 * Waits until a message comes, @max_ns at most. -EHOSTDOWN: the thread that owes it has ended, or hangs: it waits in the
 * kernel, and has not run for half a second, or has waited there for some seconds in all. -ECANCELED: *@is_cancelled
 * (atomic) was set.
 */
int host_process_wait(const struct host_process *process, enum host_channel channel,
		      uint64_t max_ns, const bool *is_cancelled);

/** Kills the process, and waits for its end @max_ns at most. True if it has ended. */
bool host_process_kill(struct host_process *process, uint64_t max_ns);

/** Whether it has ended; collects it then. */
bool host_process_has_ended(struct host_process *process);

/** Closes the sockets. The process was killed before. */
void host_process_deinit(struct host_process *process);

#endif
