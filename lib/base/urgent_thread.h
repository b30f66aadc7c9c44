/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Priority for a thread that has to act within milliseconds, and then has little to do: it overtakes
 * all common threads of the host (SCHED_RR) as long as it uses less than URGENT_PERCENT of a CPU,
 * and takes its turn with the others beyond that, so that nobody who makes work for it can starve
 * the host. A nice value alone counts within the session only, where the kernel groups tasks by
 * sessions (sched_autogroup). Where real-time priority is refused (containers, cgroups without a
 * real-time budget) the nice value remains.
 */
#ifndef LIB_BASE_URGENT_THREAD_H
#define LIB_BASE_URGENT_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"

/**
 * For each period of this length the thread may use its share at real-time priority. The share is checked
 * between turns. What a long turn used beyond it is subtracted from the next periods.
 */
#define URGENT_PERIOD_NS (100 * NS_PER_MS)

enum { URGENT_PERCENT = 30 };

/** Owned by the thread itself. */
struct urgent_thread {
	/** The kernel allows real-time priority. */
	bool is_allowed;
	bool is_realtime;
	/** The last decision. */
	bool is_wanted;
	uint64_t period_start_ns;
	uint64_t last_cpu_ns;
	/** CPU time at real-time priority that no period has paid for yet. */
	uint64_t used_ns;
};

/** Raises the calling thread's priority; @nice is its nice value while it is not real-time. */
void urgent_thread_init(struct urgent_thread *thread, int nice);

/** To be called at each turn of the thread's loop. */
void urgent_thread_tick(struct urgent_thread *thread);

/** Gives the thread its nice value until the next tick, since its work is not urgent. */
void urgent_thread_rest(struct urgent_thread *thread);

/**
 * Decides whether the thread is to be real-time at @now_ns, having used @cpu_ns of CPU time. Changes no
 * priority.
 */
bool urgent_thread_decide(struct urgent_thread *thread, uint64_t now_ns, uint64_t cpu_ns);

/**
 * Makes a lock that urgent threads share with others (priority inheritance). While an urgent thread waits for
 * the lock, its holder has that thread's priority, and does not wait behind the host's other work. -errno.
 */
int urgent_lock_init(pthread_mutex_t *lock);

#endif
