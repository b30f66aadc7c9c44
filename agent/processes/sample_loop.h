/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From the ring thread to the work thread: the queue of records, what the work thread does with them, and the
 * count of what came in and went out. Each record that came in is reported by the trace handler, counted by it as
 * malformed, or counted in METRIC_SAMPLES_DROPPED: exactly one of them, also at the stop.
 */
#ifndef AGENT_PROCESSES_SAMPLE_LOOP_H
#define AGENT_PROCESSES_SAMPLE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/processes/queue_delay.h"
#include "ebpf/abi/sample.h"
#include "lib/base/bounded_queue.h"

struct trace_handler;

struct sample_loop {
	/** Records. */
	struct bounded_queue queue;
	struct queue_delay delay;
	/** Borrowed, of the work thread; set before that runs. */
	struct trace_handler *handler;
	/** How long the work thread goes on after the stop, at most: one second, but for tests. */
	uint64_t finish_ns;
	/* Atomic: */
	bool is_stopping;
	/** Records that came, and records that left the queue and any waiting room, dropped or not. */
	uint64_t in;
	uint64_t out;
};

/** 0 or -ENOMEM. */
int sample_loop_init(struct sample_loop *loop);
/** Takes one that is all zero. */
void sample_loop_deinit(struct sample_loop *loop);

/** For the ring thread; never blocks. The oldest go when there is no room, and @record itself after the stop. */
void sample_loop_add(struct sample_loop *loop, const struct trace_record *record, size_t bytes);

/** The work thread's life: until sample_loop_stop(), and then for finish_ns with what is there. */
void sample_loop_run(struct sample_loop *loop);

/** Any thread; takes one that is all zero. */
void sample_loop_stop(struct sample_loop *loop);

/** When the work thread has ended: what it left counts as dropped. */
void sample_loop_drop_rest(struct sample_loop *loop);

/** Any thread: how many came so far, and whether so many have been dealt with. */
uint64_t sample_loop_count(const struct sample_loop *loop);
bool sample_loop_has_done(const struct sample_loop *loop, uint64_t count);

#endif
