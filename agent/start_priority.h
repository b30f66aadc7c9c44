/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The priority of the agent's start: on a machine that is busy with many threads, loading the programs of the
 * kernel side would take a small share of a CPU, and so ten times as long as it needs; nothing is sampled before.
 * The starting thread overtakes common threads (SCHED_RR) until it is done, or has used START_PRIORITY_NS of CPU
 * time: a second thread watches that, since one system call may take all of it.
 */
#ifndef AGENT_START_PRIORITY_H
#define AGENT_START_PRIORITY_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "lib/base/clock.h"

/** With what the urgent threads use meanwhile (base/urgent_thread.h), all is less than a second. */
#define START_PRIORITY_NS (600 * NS_PER_MS)

/** Owned by the starting thread; what the watching one changes is under the lock. */
struct start_priority {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool is_ended;
	/** The starting thread's. */
	pid_t tid;
	clockid_t cpu_clock;
	uint64_t max_cpu_ns;
	pthread_t watch;
	bool has_watch;
};

/**
 * Raises the calling thread until start_priority_end(), or until it has used @max_cpu_ns of CPU time, all
 * counted. Threads that it starts are common ones. Where the priority is refused, or the caller
 * has another than the common policy, nothing happens.
 */
void start_priority_begin(struct start_priority *priority, uint64_t max_cpu_ns);

/** Called by the same thread; takes one that is all zero, or was ended. */
void start_priority_end(struct start_priority *priority);

#endif
