/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** Steps out of signal trampolines, which call rt_sigreturn: the kernel has "called" the handler. */
#ifndef EBPF_SIGNAL_TRAMPOLINE_BPF_H
#define EBPF_SIGNAL_TRAMPOLINE_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/state.bpf.h"

/**
 * Steps to what the signal interrupted: the kernel saved all registers on the stack. The trampoline's own
 * frame, which was added last, has no return address, since it never called the handler. As a leaf it
 * keeps its flag: it is in its system call then, and in musl another function follows it.
 */
static __always_inline enum unwind_error restore_interrupted(struct unwind_state *state)
{
	enum unwind_error error;

	if (!state->registers_known)
		unflag_last_frame(state);
	error = read_signal_frame(state->sp, state->registers);
	if (error)
		return error;
	state_start_at_registers(state);
	return UNWIND_OK;
}

/**
 * True if the code says that the frame is at the system call of a trampoline, or behind it as the leaf of a thread in
 * the kernel. is_signal_return() tells it at the first instruction, to which handlers return.
 */
static __always_inline bool is_at_signal_return(const struct unwind_state *state)
{
	__u64 bytes = SIGNAL_RETURN_BYTES;

	if (!(state->frame_flags & FRAME_RETURN_ADDRESS))
		bytes -= SYSTEM_CALL_BYTES;
	else if (!state->registers_known)
		return false;
	return is_signal_return(state->pc - bytes);
}

#endif
