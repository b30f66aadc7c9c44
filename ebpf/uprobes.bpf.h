/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Seeing through uprobes. A function with a return probe has its return address replaced by that of
 * a trampoline in the page [uprobes]; the kernel keeps the real ones in a list of the task,
 * innermost first. And an instruction under a probe runs as a copy in that page.
 */
#ifndef EBPF_UPROBES_BPF_H
#define EBPF_UPROBES_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/kernel_types.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Return probes that one step looks at; those of frames left by longjmp() are skipped. */
	RETURN_PROBES_PER_STEP = 8,
	/** Longest copy of an instruction (UPROBE_XOL_SLOT_BYTES). */
	COPIED_CODE_BYTES = 128,
	/** What the trampoline itself may have pushed: it saves up to three registers. */
	TRAMPOLINE_STACK_BYTES = 24,
};

/*
 * True if state->pc runs a copied instruction: then it is set to where it would be in the original,
 * at the instruction or, once that is done, behind it.
 */
static __always_inline bool leave_copied_code(struct walk_state *state, struct uprobe_task *utask)
{
	__u64 offset = state->pc - BPF_CORE_READ(utask, xol_vaddr);

	if (state->frame_flags & FRAME_RETURN_ADDRESS || offset >= COPIED_CODE_BYTES)
		return false;
	state->pc = BPF_CORE_READ(utask, vaddr) + offset;
	return true;
}

/**
 * True if state->pc was in uprobes' own code: then pc and sp are set to what they would be without
 * the probe, and the step has to be taken again.
 */
static __always_inline bool see_through_uprobe(struct walk_state *state)
{
	struct uprobe_task *utask = (struct uprobe_task *)state->uprobe_task;
	struct return_instance *instance;
	__u64 slack = state->frame_flags & FRAME_RETURN_ADDRESS ? 0 : TRAMPOLINE_STACK_BYTES;

	if (!utask)
		return false;
	if (leave_copied_code(state, utask))
		return true;
	if (!state->return_instance)
		state->return_instance = (__u64)BPF_CORE_READ(utask, return_instances);
	instance = (struct return_instance *)state->return_instance;
	for (int i = 0; i < RETURN_PROBES_PER_STEP && instance; i++) {
		/* Where sp is once the function has returned. */
		__u64 sp = BPF_CORE_READ(instance, stack) + RETURN_ADDRESS_BYTES;

		if (sp > state->sp + slack)
			return false;
		state->return_instance = (__u64)BPF_CORE_READ(instance, next);
		if (sp >= state->sp) {
			state->pc = code_address(BPF_CORE_READ(instance, orig_ret_vaddr));
			state->sp = sp;
			state->frame_flags |= FRAME_RETURN_ADDRESS;
			return true;
		}
		instance = (struct return_instance *)state->return_instance;
	}
	return false;
}

#endif
