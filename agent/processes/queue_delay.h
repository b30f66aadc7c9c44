/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Measures how far a thread is behind its queue: the age of the oldest record that is not finished, in the
 * queue or in work. If the thread takes nothing out while its full queue drops the oldest records, the first
 * dropped record counts. Records begin with a uint64_t, their time (CLOCK_MONOTONIC, ns).
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
	/** Atomic: time of the record that the thread works on, or should; 0: the thread is idle. */
	uint64_t at_hand_ns;
};

/** The thread now works on a record that has waited since @time_ns. */
void queue_delay_begin(struct queue_delay *delay, uint64_t time_ns);

/** The full queue has dropped a record of @time_ns. For any thread. */
void queue_delay_drop(struct queue_delay *delay, uint64_t time_ns);

/** The thread has finished its record. */
void queue_delay_end(struct queue_delay *delay);

/** The age in ns; 0 if nothing waits. For any thread. */
uint64_t queue_delay_age(const struct queue_delay *delay, uint64_t now_ns);

/**
 * The part of the time from @since_ns to @now_ns in which a record that is @age_ns old now had waited for longer than
 * @limit_ns.
 */
uint64_t queue_delay_stalled(uint64_t age_ns, uint64_t limit_ns, uint64_t since_ns,
			     uint64_t now_ns);

#endif
