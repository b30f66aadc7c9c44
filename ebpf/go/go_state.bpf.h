/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What a walk keeps of Go's runtime (go_step.bpf.h). */
#ifndef EBPF_GO_STATE_BPF_H
#define EBPF_GO_STATE_BPF_H

#include "ebpf/abi/go.h"
#include "ebpf/helpers.bpf.h"

/** Where a walk stands in the stacks of Go's runtime (go_step.bpf.h); addresses in the process. */
struct go_walk {
	/** The runtime that all else here is of; 0: none yet. */
	__u64 executable_id;
	/** The goroutine that the scheduler's stack was entered for is not the thread's any more. */
	__u32 is_left;
	/** It goes on where a panic was recovered from. */
	__u32 is_recovering;
	/** 0: not found. */
	__u64 g;
	__u64 m;
	__u64 g0;
	/** The goroutine that the thread runs, 0: none; and its stack. */
	__u64 curg;
	__u64 stack_low;
	__u64 stack_high;
	/** The thread's own stack pointer at the next call from C further out; 0: g0 has it. */
	__u64 callback_sp;
	struct go_process process;
};

/** Forgets the last sample. */
static __always_inline void go_state_begin(struct go_walk *walk)
{
	walk->executable_id = 0;
}

/** Forgets what is kept from walk to walk. */
static __always_inline void go_state_forget(struct go_walk *walk)
{
	/* Nothing is. */
	(void)walk;
}

#endif
