/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for Go's runtime (go_step.bpf.h). */
#ifndef EBPF_GO_STATE_BPF_H
#define EBPF_GO_STATE_BPF_H

#include "ebpf/abi/go.h"
#include "ebpf/helpers.bpf.h"

/** A label of a goroutine: addresses of the string headers of both. */
struct go_label {
	__u64 key;
	__u64 value;
};

/** Position of an unwind in the stacks of Go's runtime; addresses are in the process. */
struct go_unwind {
	/** The runtime to which all other members belong; 0: none yet. */
	__u64 executable_id;
	/** The goroutine that the scheduler's stack was entered for is not the thread's any more. */
	__u32 is_left;
	/** The goroutine resumes where a panic was recovered. */
	__u32 is_recovering;
	/** recovery() itself was interrupted: only a part of where the goroutine resumes may be written. x86-64 only. */
	__u32 is_moving;
	/** 0: not found. */
	__u64 g;
	__u64 m;
	__u64 g0;
	/** The goroutine that the thread runs, 0: none; its stack. */
	__u64 curg;
	__u64 stack_low;
	__u64 stack_high;
	/** The thread's own stack pointer at the next outer call from C; 0: g0 has it. */
	__u64 callback_sp;
	struct go_process process;
	/** Labels that were found, and are added to the record at the end. */
	__u32 label_count;
	__u32 reserved;
	struct go_label labels[LABELS_MAX];
};

/** Resets the state for a new sample. */
static __always_inline void go_state_begin(struct go_unwind *unwind)
{
	unwind->executable_id = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void go_state_forget(struct go_unwind *unwind)
{
	/* Nothing is cached. */
	(void)unwind;
}

#endif
