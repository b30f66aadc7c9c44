/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stops one thread by ptrace and lets it go on. It is seized: no signal is sent to it, a thread that a signal has stopped stays
 * stopped, and when this process ends, however it does, the thread goes on.
 */
#ifndef AGENT_DUMP_THREAD_STOP_H
#define AGENT_DUMP_THREAD_STOP_H

#include <sys/types.h>

#include "lib/host/register_set.h"

struct thread_stop {
	pid_t tid;
	/** Signal that was about to be delivered; 0: none. */
	int signal;
	struct register_set registers;
	/** The time at which it was seen to stand still, CLOCK_MONOTONIC. */
	uint64_t since_ns;
};

/**
 * Stops @tid and reads its registers. -EPERM: it may not be traced, or is; -ESRCH: it is gone; -EAGAIN: it does not stop.
 * After an error nothing is to be released.
 */
int thread_stop_begin(struct thread_stop *stop, pid_t tid);
void thread_stop_end(struct thread_stop *stop);

#endif
