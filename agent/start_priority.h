/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The priority of the agent's start. On a machine that is busy with many threads, loading the kernel programs
 * would get a small share of a CPU, and so take ten times as long, while nothing is sampled. So the starting
 * thread overtakes common threads (SCHED_RR) until it has finished or used START_PRIORITY_NS of CPU time. A
 * second thread enforces the limit, since one system call may take all of it.
 */
#ifndef AGENT_START_PRIORITY_H
#define AGENT_START_PRIORITY_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "lib/base/clock.h"

/** Together with the urgent threads' use meanwhile (base/urgent_thread.h) this is less than a second. */
#define START_PRIORITY_NS (600 * NS_PER_MS)

/** Owned by the starting thread; fields that the watching thread changes are under the lock. */
struct start_priority {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool is_ended;
	/** Tid, CPU clock and limit of the starting thread. */
	pid_t tid;
	clockid_t cpu_clock;
	uint64_t max_cpu_ns;
	pthread_t watch;
	bool has_watch;
};

/**
 * Raises the calling thread until start_priority_end(), or until it has used @max_cpu_ns of CPU time in total,
 * including time before the call. Threads that it starts have common priority. If the priority is refused, or
 * the caller has another policy than the common one, nothing happens.
 */
void start_priority_begin(struct start_priority *priority, uint64_t max_cpu_ns);

/** Called by the same thread; takes a struct that is all zero, or was ended. */
void start_priority_end(struct start_priority *priority);

#endif
