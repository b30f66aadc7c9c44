/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How far a thread is behind its queue: the age of the oldest record that it is not done with, be it still in the
 * queue or just at hand. A thread that takes nothing out while its full queue drops the oldest is as far behind as
 * the first of these. Records begin with a uint64_t, their time (CLOCK_MONOTONIC, ns).
 *
 * One thread takes records out and calls begin() and end().
 */
#ifndef AGENT_PROCESSES_QUEUE_DELAY_H
#define AGENT_PROCESSES_QUEUE_DELAY_H

#include <stdint.h>

#include "lib/base/bounded_queue.h"

struct queue_delay {
	/** Borrowed. */
	struct bounded_queue *queue;
	/** Atomic: the time of what the thread is at, or should be; 0: it waits for something to do. */
	uint64_t at_hand_ns;
};

/** The thread is now at something that has waited since @time_ns. */
void queue_delay_begin(struct queue_delay *delay, uint64_t time_ns);

/** The full queue has dropped a record of @time_ns. For any thread. */
void queue_delay_drop(struct queue_delay *delay, uint64_t time_ns);

/** The thread has nothing at hand. */
void queue_delay_end(struct queue_delay *delay);

/** In ns; 0 if nothing waits. For any thread. */
uint64_t queue_delay_age(const struct queue_delay *delay, uint64_t now_ns);

#endif
