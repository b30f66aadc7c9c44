/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Undoes the effects of uprobes. A return probe replaces the return address of a function by that of a
 * trampoline in the page [uprobes]; the kernel has the real return addresses in a list of the task,
 * innermost first. An instruction under a probe runs as a copy in that page.
 */
#ifndef EBPF_UPROBES_BPF_H
#define EBPF_UPROBES_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/kernel_types.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Limit of the return probes that one step checks; those of frames left by longjmp() are skipped. */
	RETURN_PROBES_PER_STEP = 8,
	/** Longest copy of an instruction (UPROBE_XOL_SLOT_BYTES). */
	COPIED_CODE_BYTES = 128,
	/** Size of the registers that the trampoline itself may have pushed: up to three. */
	TRAMPOLINE_STACK_BYTES = 24,
};

/*
 * True if state->pc is in a copied instruction. Then state->pc is set to the address in the original
 * code: at the instruction or, once it has run, just behind it.
 */
static __always_inline bool leave_copied_code(struct unwind_state *state, struct uprobe_task *utask)
{
	__u64 offset = state->pc - BPF_CORE_READ(utask, xol_vaddr);

	if (state->frame_flags & FRAME_RETURN_ADDRESS || offset >= COPIED_CODE_BYTES)
		return false;
	state->pc = BPF_CORE_READ(utask, vaddr) + offset;
	return true;
}

/**
 * True if state->pc was in uprobes' own code. Then pc and sp are set to their values without the probe,
 * and the step must be taken again.
 */
static __always_inline bool see_through_uprobe(struct unwind_state *state)
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
		/* The value of sp once the function has returned. */
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
