/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The way by which processes/ has the user stack of a first sample walked in user space: over the
 * copy of the stack that the record carries, once the maps of its process have been read. The
 * kernel side's own unwinder, compiled for the host, implements it; tests put a fake in.
 */
#ifndef AGENT_PROCESSES_FIRST_UNWINDER_H
#define AGENT_PROCESSES_FIRST_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"
#include "lib/model/stack_deltas.h"

struct runtime;

/** A language runtime in the process. */
struct first_runtime {
	uint64_t executable_id;
	struct runtime *process;
};

/** What a walk may look at: the process as it was when its maps were read. Borrowed for the call. */
struct first_tables {
	/** Sorted as in abi/process.h. */
	const struct mapping_row *rows;
	uint32_t row_count;
	/**
	 * The deltas of an executable, valid until the walk returns; NULL if they are not loaded:
	 * then the walk ends with UNWIND_NOT_LOADED.
	 */
	const struct stack_deltas *(*find_deltas)(void *context, uint64_t executable_id);
	void *context;
	/** At most RUNTIMES_MAX, of which interpreted frames come; 0: native frames only. */
	const struct first_runtime *runtimes;
	uint32_t runtime_count;
};

struct first_unwinder;

struct first_unwinder_ops {
	/**
	 * Walks the user stack of @sample and writes its frames to @words, in the form of
	 * abi/frame.h, leaf first, ending in an error frame if the outermost frame was not reached.
	 * Returns how many of the @capacity words were written; sets *@reached_end. Called by the
	 * work thread. Nothing in @sample but its shape can be trusted.
	 */
	uint32_t (*unwind)(struct first_unwinder *unwinder, const struct first_sample *sample,
			   const struct first_tables *tables, uint64_t *words, uint32_t capacity,
			   bool *reached_end);
};

struct first_unwinder {
	const struct first_unwinder_ops *ops;
};

#endif
