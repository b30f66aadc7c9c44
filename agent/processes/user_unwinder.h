/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface by which processes/ unwinds the user stack of a deferred sample in user space: over the copy of
 * the stack in the record, once the maps of its process have been read. The kernel side's own unwinder,
 * compiled for the host, implements it; tests use a fake.
 */
#ifndef AGENT_PROCESSES_USER_UNWINDER_H
#define AGENT_PROCESSES_USER_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"
#include "lib/model/stack_deltas.h"

struct runtime;

/** A language runtime in the process. */
struct user_runtime {
	uint64_t executable_id;
	struct runtime *process;
};

/** Input of an unwind: the process as it was when its maps were read. Borrowed for the call. */
struct user_tables {
	/** Sorted as in abi/process.h. */
	const struct mapping_row *rows;
	uint32_t row_count;
	/**
	 * Returns the deltas of an executable, valid until the unwind returns; NULL if they are not loaded, and
	 * then the unwind ends with UNWIND_NOT_LOADED.
	 */
	const struct stack_deltas *(*find_deltas)(void *context, uint64_t executable_id);
	void *context;
	/** The runtimes of interpreted frames, at most RUNTIMES_MAX; 0: native frames only. */
	const struct user_runtime *runtimes;
	uint32_t runtime_count;
};

struct user_unwinder;

struct user_unwinder_ops {
	/**
	 * Unwinds the user stack of @sample and writes its frames to @words, in the form of abi/frame.h, leaf
	 * first, ending in an error frame if the outermost frame was not reached. Returns how many of the
	 * @capacity words were written; sets *@reached_end. Called by the work thread. Only the shape of
	 * @sample can be trusted.
	 */
	uint32_t (*unwind)(struct user_unwinder *unwinder, const struct deferred_sample *sample,
			   const struct user_tables *tables, uint64_t *words, uint32_t capacity,
			   bool *reached_end);
};

struct user_unwinder {
	const struct user_unwinder_ops *ops;
};

#endif
