/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Code of HotSpot's interpreter on x86-64 in which it has no frame yet, or no more: the caller is in registers. Source:
 * cpu/x86/{templateInterpreterGenerator_x86,interp_masm_x86}.* of OpenJDK 8 to 27.
 */
#ifndef EBPF_JAVA_INTERPRETER_X86_BPF_H
#define EBPF_JAVA_INTERPRETER_X86_BPF_H

#include "ebpf/java/java_leaf_x86.bpf.h"

/*
 * Reads the caller at the entry of a method, where the frame is being made. The Method and the caller's stack
 * pointer are in registers. The return address is popped first, and pushed again behind the locals.
 */
static __always_inline enum unwind_error java_read_entry(struct unwind_state *state,
							 struct java_unwind *unwind, __u64 code)
{
	struct java_caller *caller = &unwind->caller;
	__u64 sender_sp = state->registers[JAVA_SENDER_SP_REGISTER];
	enum unwind_error error = UNWIND_OK;

	if (sender_sp == state->sp) {
		/* The return address was popped, and nothing is pushed yet: the stack is the caller's. */
		caller->pc = state->registers[JAVA_RETURN_REGISTER];
		caller->fp = state->fp;
		caller->fp_known = state->fp_known;
		state->sp -= 8;
	} else if (state->fp == state->sp || state->fp == state->sp + 8 ||
		   state->fp == state->sp + 16) {
		error = java_read_pair(state, state->fp, caller);
	} else if (java_is_behind_push_fp(code)) {
		error = java_read_pair(state, state->sp, caller);
	} else {
		error = java_read_return(state, state->sp, caller);
		java_check_return(unwind, caller->pc);
		if (!unwind->check)
			caller->pc = state->registers[JAVA_RETURN_REGISTER];
	}
	caller->sp = sender_sp;
	return error;
}

/*
 * Reads the caller after the frame was popped: in the end its caller's stack pointer and its return address are
 * in registers, the latter in register @popped.
 */
static __always_inline enum unwind_error java_read_left(struct unwind_state *state,
							struct java_unwind *unwind,
							enum java_position position, __u32 popped)
{
	struct java_caller *caller = &unwind->caller;
	enum unwind_error error = java_read_return(state, state->sp, caller);

	if (error)
		return error;
	if (position != JAVA_RETURN_POP)
		caller->pc = state->registers[popped % REGISTER_COUNT_MAX];
	caller->sp = position == JAVA_RETURN_JUMP ? state->sp :
						    state->registers[JAVA_RETURN_SP_REGISTER];
	/* The stack is the caller's already. */
	if (caller->sp == state->sp)
		state->sp -= 8;
	return UNWIND_OK;
}

/** Returns the target of a leaf at movabs r10, ADDRESS; jmp r10. 0 for other instructions. */
static __always_inline __u64 java_jump_target(const struct unwind_state *state)
{
	__u64 code = 0, more = 0;

	if (read_word(state->pc, &code))
		return 0;
	if (java_begins_with(code, 0xe2ff41, 3))
		return state->registers[JAVA_JUMP_REGISTER];
	if (!java_begins_with(code, 0xba49, 2) || read_word(state->pc + 8, &more) ||
	    !java_begins_with(more >> 16, 0xe2ff41, 3))
		return 0;
	return code >> 16 | more << 48;
}

/**
 * Fills unwind->caller if a leaf in the interpreter has no frame. Sets *@position to JAVA_AT_ENTRY, JAVA_AT_RETURN or
 * JAVA_IN_FRAME.
 */
static __always_inline enum unwind_error java_read_outside(struct unwind_state *state,
							   struct java_unwind *unwind,
							   enum java_position *position)
{
	__u64 code = 0, last = 0, sender_sp;
	__u32 popped = JAVA_BCP_REGISTER, ahead = 0;
	enum java_position return_position;

	*position = JAVA_IN_FRAME;
	if (read_word(state->pc, &code))
		return UNWIND_NO_INFO;
	return_position = java_return_position(code, &ahead);
	if (ahead)
		popped = read_word(state->pc + ahead, &last) ? REGISTER_COUNT_MAX :
							       java_popped_register(last, ahead);
	if (return_position != JAVA_IN_FRAME && popped != REGISTER_COUNT_MAX) {
		*position = JAVA_AT_RETURN;
		return java_read_left(state, unwind, return_position, popped);
	}
	if (java_is_in_frame(code))
		return UNWIND_OK;
	/* A bytecode address is never on the stack: then this is the entry, where the register has the caller's sp. */
	sender_sp = state->registers[JAVA_SENDER_SP_REGISTER];
	if (sender_sp < state->sp || sender_sp - state->sp >= JAVA_FRAME_MAX_BYTES)
		return UNWIND_OK;
	*position = JAVA_AT_ENTRY;
	return java_read_entry(state, unwind, code);
}

#endif
