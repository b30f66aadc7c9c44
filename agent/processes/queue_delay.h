/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How far a thread is behind its queue: the age of the oldest record that it is not done with, be it still in the
 * queue or just at hand. Records begin with a uint64_t, their time (CLOCK_MONOTONIC, ns).
 *
 * One thread takes records out and calls begin() and end(); any thread may ask.
 */
#ifndef AGENT_PROCESSES_QUEUE_DELAY_H
#define AGENT_PROCESSES_QUEUE_DELAY_H

#include <stdint.h>

#include "agent/base/bounded_queue.h"

struct queue_delay {
	/** Borrowed. */
	struct bounded_queue *queue;
	/** Atomic: the time of what the thread is at; 0: it waits for something to do. */
	uint64_t at_hand_ns;
};

/** The thread is now at something that has waited since @time_ns. */
void queue_delay_begin(struct queue_delay *delay, uint64_t time_ns);

/** The thread has nothing at hand. */
void queue_delay_end(struct queue_delay *delay);

/** In ns; 0 if nothing waits. */
uint64_t queue_delay_age(const struct queue_delay *delay, uint64_t now_ns);

#endif
