/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The queue of records from the ring thread to the work thread, the work thread's loop, and the counts of
 * records in and out. Exactly one thing happens to each record, also at the stop: the trace handler reports it
 * or counts it as malformed, or it is counted in METRIC_SAMPLES_DROPPED.
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
	/** Queue of records. */
	struct bounded_queue queue;
	struct queue_delay delay;
	/** Borrowed; used by the work thread and set before that runs. */
	struct trace_handler *handler;
	/** Limit of the work thread's time after the stop: one second, except in tests. */
	uint64_t finish_ns;
	/* Atomic: */
	bool is_stopping;
	/**
	 * Number of records added, and number of records that left the queue and any waiting room, dropped or
	 * not.
	 */
	uint64_t in;
	uint64_t out;
};

/** 0 or -ENOMEM. */
int sample_loop_init(struct sample_loop *loop);
/** Takes a loop that is all zero. */
void sample_loop_deinit(struct sample_loop *loop);

/**
 * For the ring thread; never blocks. Drops the oldest records when the queue is full, and @record itself after
 * the stop.
 */
void sample_loop_add(struct sample_loop *loop, const struct trace_record *record, size_t bytes);

/** Runs the work thread until sample_loop_stop(), and then at most finish_ns longer for the remaining records. */
void sample_loop_run(struct sample_loop *loop);

/** Any thread; takes a loop that is all zero. */
void sample_loop_stop(struct sample_loop *loop);

/** To be called when the work thread has ended: counts the remaining records as dropped. */
void sample_loop_drop_rest(struct sample_loop *loop);

/** Any thread: number of records added so far, and whether @count records are finished. */
uint64_t sample_loop_count(const struct sample_loop *loop);
bool sample_loop_has_done(const struct sample_loop *loop, uint64_t count);

#endif
