/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Limits how much of a process's memory is read to name its frames. The process decides the number of its
 * functions and the size of their names and line tables. Without a limit one stack could keep the work thread
 * busy for seconds, and delay the samples of all other processes. Bytes are counted and not time, with
 * READ_BUDGET_PER_READ for each read, so that a process gets the same on a busy machine.
 */
#ifndef AGENT_RUNTIMES_READ_BUDGET_H
#define AGENT_RUNTIMES_READ_BUDGET_H

#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	/**
	 * Bytes that a read counts for. It was measured to take as long as reading and scanning 440 bytes of a
	 * line table.
	 */
	READ_BUDGET_PER_READ = 512,
	/** Budget of one stack: 68 ms of line tables, or 1,400 new methods of Java. */
	READ_BUDGET_STACK_BYTES = 16 << 20,
	/** Budget of a process: its rate (a quarter of a CPU), and the most that it can save up. */
	READ_BUDGET_BYTES_PER_MS = 60 << 10,
	READ_BUDGET_BURST_BYTES = 256 << 20,
};

/** The budget of one process; one thread at a time. All bytes zero is a full budget. */
struct read_budget {
	uint64_t spent;
	uint64_t spent_for_stack;
	/** Time at which `spent` was last lowered. */
	uint64_t refilled_ns;
};

/** Begins the budget of the next stack. @now_ns: clock_monotonic_ns(). */
void read_budget_begin_stack(struct read_budget *budget, uint64_t now_ns);

/** Memory that is read within a budget; beyond it reads fail with -EAGAIN. */
struct budgeted_memory {
	struct remote_memory memory;
	/** Borrowed. */
	struct remote_memory *source;
	struct read_budget *budget;
};

void budgeted_memory_init(struct budgeted_memory *memory, struct remote_memory *source,
			  struct read_budget *budget);

#endif
