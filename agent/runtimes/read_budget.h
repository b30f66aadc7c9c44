/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How much of a process's memory is read to name its frames. The process decides how many functions
 * it has, and how long their names and line tables are; without a limit one stack could keep the work
 * thread busy for seconds, and with it the samples of all other processes. What is counted is bytes, with
 * READ_BUDGET_PER_READ for each read, so that a process gets the same on a busy machine.
 */
#ifndef AGENT_RUNTIMES_READ_BUDGET_H
#define AGENT_RUNTIMES_READ_BUDGET_H

#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	/** A read took as long as 440 bytes of a line table that is read and looked through. */
	READ_BUDGET_PER_READ = 512,
	/** For one stack: 68 ms of line tables, or 1,400 methods of Java that were never seen. */
	READ_BUDGET_STACK_BYTES = 16 << 20,
	/** Of a process: what it gets as time goes by (a quarter of a CPU), and what it can save up. */
	READ_BUDGET_BYTES_PER_MS = 60 << 10,
	READ_BUDGET_BURST_BYTES = 256 << 20,
};

/** Of one process; one thread at a time. All bytes zero is a full one. */
struct read_budget {
	uint64_t spent;
	uint64_t spent_for_stack;
	/** When `spent` was lowered last. */
	uint64_t refilled_ns;
};

/** The reads to come are for the next stack. @now_ns: clock_monotonic_ns(). */
void read_budget_begin_stack(struct read_budget *budget, uint64_t now_ns);

/** Memory that is read within a budget: beyond it reads fail with -EAGAIN. */
struct budgeted_memory {
	struct remote_memory memory;
	/** Borrowed. */
	struct remote_memory *source;
	struct read_budget *budget;
};

void budgeted_memory_init(struct budgeted_memory *memory, struct remote_memory *source,
			  struct read_budget *budget);

#endif
