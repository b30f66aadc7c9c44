/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * java_step_stub(): steps out of HotSpot's code that belongs to no method, by the rows that user space has made
 * from its instructions (abi/java.h). Where there is no verified row, it uses the data of the code cache, and the
 * result is a guess. Source: cpu/x86/{stubGenerator_x86_64,sharedRuntime_x86_64,c1_Runtime1_x86}.cpp of OpenJDK 8
 * to 27.
 */
#ifndef EBPF_JAVA_STUB_BPF_H
#define EBPF_JAVA_STUB_BPF_H

#include "ebpf/java/java_frame.bpf.h"
#include "ebpf/java/java_machine.bpf.h"
#include "ebpf/rule_lookup.bpf.h"

enum {
	/* Limit of the words up to the return address of enterSpecial(): a ContinuationEntry, and arguments. */
	JAVA_ENTRY_WORDS = 32,
	/* Limit of the arguments that a stub pops from its caller's stack: the last one, of linkTo...(). */
	JAVA_POPPED_MAX_BYTES = 8,
};

/* Reads the return address at @address and sets the stack pointer; the rest of @caller is set already. */
static __always_inline enum unwind_error java_return_at(__u64 address, struct java_caller *caller)
{
	caller->sp = address + 8;
	return read_word(address, &caller->pc) ? UNWIND_STACK_UNREADABLE : UNWIND_OK;
}

/*
 * Steps out of an adapter. It pops the return address first, and has its caller's stack pointer in a register. Then
 * the lowest word on the stack may have any value.
 */
static __always_inline enum unwind_error java_leave_adapter(struct unwind_state *state,
							    struct java_unwind *unwind, __u64 code,
							    struct java_caller *caller)
{
	__u64 popped = state->registers[JAVA_RETURN_REGISTER];
	__u64 sender_sp = java_sender_sp(state, unwind);
	bool is_popped;

	caller->flags = 0;
	if (java_is_in_fixup(code))
		return java_return_at(sender_sp, caller);
	java_check_return(unwind, popped);
	barrier();
	is_popped = unwind->check && java_has_popped(code);
	if (is_popped)
		caller->pc = popped;
	/* At the entry for compiled callers the register has a value of theirs; only the interpreter has set it. */
	if (!is_popped && !java_is_interpreter(unwind, caller->pc) &&
	    caller->pc != unwind->process.call_stub_return)
		return UNWIND_OK;
	if (sender_sp > state->sp && sender_sp - state->sp < JAVA_ADAPTER_MAX_BYTES)
		caller->sp = sender_sp;
	return UNWIND_OK;
}

/*
 * Reads the frame of a leaf whose blob has one. Sets unwind->check if the frame exists, or may exist. Where an exception
 * continues in the caller, that address is in a register before and after the frame.
 */
static __always_inline enum unwind_error java_read_stub_frame(struct unwind_state *state,
							      struct java_unwind *unwind,
							      struct java_caller *caller)
{
	__u64 offset = state->pc - unwind->code_start;

	if (unwind->frame_complete >= 0 && offset < (__u32)unwind->frame_complete) {
		unwind->check = 0;
		return UNWIND_OK;
	}
	if (java_try_frame(state, unwind, state->sp, caller))
		return UNWIND_STACK_UNREADABLE;
	if (unwind->check || unwind->frame_complete >= 0) {
		unwind->check = 1;
		return UNWIND_OK;
	}
	java_check_return(unwind, state->registers[JAVA_EXCEPTION_REGISTER]);
	barrier();
	if (!unwind->check)
		return UNWIND_OK;
	*caller = (struct java_caller){
		.pc = state->registers[JAVA_EXCEPTION_REGISTER],
		.sp = state->sp,
		.fp = state->fp,
		.fp_known = state->fp_known,
		.flags = FRAME_GUESS,
	};
	/* The stack is the caller's. */
	state->sp -= 8;
	return UNWIND_OK;
}

/*
 * Steps out of a stub without a row. A stub without a frame of a known size has been called, or was reached by a jump
 * at the end of another stub, or has a frame with a frame pointer.
 */
static __always_inline enum unwind_error
java_guess_stub(struct unwind_state *state, struct java_unwind *unwind, struct java_caller *caller)
{
	bool is_leaf = java_is_leaf(state), is_native;
	enum java_position position = JAVA_IN_FRAME;
	enum unwind_error error;
	__u64 code = 0, sender_sp = 0;

	if (is_leaf && read_word(state->pc, &code))
		return UNWIND_NO_INFO;
	if (is_leaf)
		position = java_stub_position(code);
	is_native = java_is_called_by_native(state, unwind);
	if (position != JAVA_IN_FRAME && !is_native)
		caller->flags = FRAME_GUESS;
	if (position == JAVA_AT_SAVED_FP)
		return java_read_pair(state, state->sp, caller);
	if (position == JAVA_AT_LEAVE)
		return java_read_frame(state, caller);
	if (position == JAVA_AT_CALL)
		return java_read_return(state, state->sp, caller);
	/* These have a frame with a frame pointer. */
	if (is_native)
		return java_read_frame(state, caller);
	if (unwind->frame_bytes && !is_leaf) {
		/* As the JVM does, except for stubs that have built the stack again, which address it by rbp. */
		error = java_try_frame(state, unwind, state->sp, caller);
		if (error || unwind->check)
			return error;
	}
	caller->fp = state->fp;
	caller->fp_known = state->fp_known;
	if (!is_leaf && java_is_named(unwind, JAVA_ADAPTER_NAME))
		sender_sp = java_fixup_sender_sp(state);
	if (sender_sp)
		return java_return_at(sender_sp, caller);
	caller->flags = FRAME_GUESS;
	if (!is_leaf)
		return java_read_frame(state, caller);
	if (unwind->frame_bytes) {
		error = java_read_stub_frame(state, unwind, caller);
		if (error || unwind->check)
			return error;
	}
	error = java_read_return(state, state->sp, caller);
	if (error)
		return error;
	if (java_is_named(unwind, JAVA_VTABLE_NAME)) {
		caller->flags = 0;
		return UNWIND_OK;
	}
	if (java_is_named(unwind, JAVA_ADAPTER_NAME))
		return java_leave_adapter(state, unwind, code, caller);
	java_check_return(unwind, caller->pc);
	barrier();
	return unwind->check ? UNWIND_OK : java_read_frame(state, caller);
}

/* Finds the row of the stub at state->pc; UNWIND_NO_INFO: there is no verified one. */
static __always_inline enum unwind_error java_find_row(struct unwind_state *state,
						       struct java_unwind *unwind)
{
	__u64 offset =
		state->pc - (state->frame_flags & FRAME_RETURN_ADDRESS) - unwind->stubs.text_start;
	enum unwind_error error;

	if (offset >> UNWIND_PAGE_SHIFT >= unwind->stubs.page_count)
		return UNWIND_NO_INFO;
	error = search_rule(&unwind->stubs, offset, &unwind->stub_rule);
	if (error)
		return error;
	return unwind->stub_rule.cfa == CFA_NONE || unwind->stub_rule.flags & RULE_GUESS ?
		       UNWIND_NO_INFO :
		       UNWIND_OK;
}

/* Computes the CFA by the row that was found. */
static __always_inline enum unwind_error java_row_cfa(struct unwind_state *state,
						      const struct unwind_rule *rule, __u64 *cfa)
{
	bool is_indirect = rule->cfa == CFA_DEREF_SP || rule->cfa == CFA_DEREF_FP;

	if (rule->cfa == CFA_REGISTER && state->registers_known &&
	    rule->cfa_register < REGISTER_COUNT_MAX)
		*cfa = state->registers[rule->cfa_register];
	else if (rule->cfa == CFA_SP || rule->cfa == CFA_DEREF_SP)
		*cfa = state->sp;
	else if ((rule->cfa == CFA_FP || rule->cfa == CFA_DEREF_FP) && state->fp_known)
		*cfa = state->fp;
	else
		return UNWIND_REGISTER_UNKNOWN;
	*cfa += rule->cfa_offset;
	if (is_indirect && read_word(*cfa, cfa))
		return UNWIND_STACK_UNREADABLE;
	*cfa += rule->cfa_addend;
	return UNWIND_OK;
}

/* Reads a return address that is in a register, or in the JVM's thread structure. */
static __always_inline enum unwind_error java_read_outside_stack(const struct unwind_state *state,
								 const struct unwind_rule *rule,
								 __u64 *address)
{
	if (!state->registers_known)
		return UNWIND_REGISTER_UNKNOWN;
	if (rule->ra == SAVED_IN_THREAD)
		return read_word(state->registers[JAVA_THREAD_REGISTER] + rule->ra_offset, address);
	if ((__u16)rule->ra_offset >= REGISTER_COUNT_MAX)
		return UNWIND_REGISTER_UNKNOWN;
	*address = state->registers[(__u16)rule->ra_offset];
	return UNWIND_OK;
}

static __always_inline enum unwind_error java_read_by_row(struct unwind_state *state,
							  const struct unwind_rule *rule,
							  struct java_caller *caller)
{
	enum unwind_error error = java_row_cfa(state, rule, &caller->sp);
	__u64 fp_base = rule->fp == SAVED_AT_FP ? state->fp : caller->sp;

	caller->fp = state->fp;
	caller->fp_known = rule->fp == SAVED_SAME ? state->fp_known : rule->fp != SAVED_UNDEFINED;
	if (error)
		return error;
	if (rule->fp != SAVED_SAME && rule->fp != SAVED_UNDEFINED)
		caller->fp_known =
			!window_read_up(&state->stack, fp_base + rule->fp_offset, &caller->fp);
	caller->rbx_location = state->rbx_location;
	if (rule->rbx_slot)
		caller->rbx_location = rule->rbx_slot == RBX_LOST ? RBX_NOWHERE :
								    caller->sp - 8 * rule->rbx_slot;
	caller->is_known = 1;
	if (!RETURN_ADDRESS_BYTES && rule->ra == SAVED_SAME)
		return java_read_link(state, caller);
	if (rule->ra != SAVED_IN_REGISTER && rule->ra != SAVED_IN_THREAD)
		return java_read_code(state, caller->sp + rule->ra_offset, caller);
	error = java_read_outside_stack(state, rule, &caller->pc);
	if (error)
		return error;
	/* It was popped, maybe with an argument, or is not pushed yet: the stack is the caller's already. */
	if (state->sp - caller->sp <= JAVA_POPPED_MAX_BYTES)
		state->sp = caller->sp - 8;
	return UNWIND_OK;
}

/*
 * Handles the return barrier, at the end of the frames that a virtual thread has on the stack; its other frames are
 * still in the heap. The unwind goes on to the caller of enterSpecial(), whose frame begins here, or behind arguments.
 * The frame pointer may be that of another thread's stack. The barrier's own frame shows that frames are missing.
 */
static __always_inline enum unwind_error java_leave_barrier(struct unwind_state *state,
							    struct java_unwind *unwind)
{
	unwind->entry_words_left = JAVA_ENTRY_WORDS;
	unwind->entry_word = state->sp + unwind->process.continuation_bytes;
	return push_frame(state, frame_word(FRAME_JAVA, 0, state->pc), (__u64)JAVA_STUB << 32);
}

/* Handles the stubs that copy such frames to the stack in the same way; they may be copying them at the moment. */
static __always_inline enum unwind_error java_leave_thaw(struct unwind_state *state,
							 struct java_unwind *unwind)
{
	__u64 entry = state->sp + unwind->stub_rule.cfa_offset, room = 0;
	__s16 alignment = unwind->stub_rule.cfa_addend;

	if (alignment && (state->registers_known || state->rbx_location == RBX_IN_REGISTER))
		room = state->registers[RBX_REGISTER % REGISTER_COUNT_MAX];
	else if (alignment &&
		 (state->rbx_location == RBX_NOWHERE || read_word(state->rbx_location, &room)))
		return UNWIND_REGISTER_UNKNOWN;
	if (alignment)
		entry = (entry + room + alignment - 1) & -(__u64)alignment;
	unwind->entry_words_left = JAVA_ENTRY_WORDS;
	unwind->entry_word = entry > state->sp ? entry : state->sp;
	unwind->entry_word += unwind->process.continuation_bytes;
	return UNWIND_OK;
}

/* Takes one step of the search for the entry: one word. */
static __always_inline enum unwind_error java_seek_entry(struct unwind_state *state,
							 struct java_unwind *unwind)
{
	__u64 address = unwind->entry_word, word = 0;

	if (window_read_up(&state->stack, address, &word))
		return UNWIND_STACK_UNREADABLE;
	unwind->entry_word = address + sizeof(word);
	if (java_is_code(unwind, code_address(word))) {
		unwind->entry_words_left = 0;
		return java_read_pair(state, address - sizeof(word), &unwind->caller);
	}
	return --unwind->entry_words_left ? UNWIND_OK : UNWIND_NO_INFO;
}

static __always_inline enum unwind_error
java_read_stub(struct unwind_state *state, struct java_unwind *unwind, struct java_caller *caller)
{
	if (!java_find_row(state, unwind)) {
		if (unwind->stub_rule.cfa == CFA_JAVA_ENTRY)
			return java_leave_thaw(state, unwind);
		return java_read_by_row(state, &unwind->stub_rule, caller);
	}
	return java_guess_stub(state, unwind, caller);
}

/*
 * True at a return barrier. Behind a call, that of Deoptimization::unpack_frames(), the same instruction restores a
 * stub's own stack pointer.
 */
static __always_inline bool java_is_at_barrier(struct java_unwind *unwind, __u64 pc)
{
	__u64 code = 0, before = 0;

	if (read_word(pc, &code) || !java_is_return_barrier(code))
		return false;
	unwind->check = 0;
	if (!read_word(pc - sizeof(before), &before))
		check_call(before, &unwind->check);
	return !unwind->check;
}

static __always_inline enum unwind_error java_step_stub(struct unwind_state *state,
							struct java_unwind *unwind)
{
	enum unwind_error error;

	if (java_is_at_barrier(unwind, state->pc))
		return java_leave_barrier(state, unwind);
	error = java_push_stub(state);
	if (!error)
		error = java_read_stub(state, unwind, &unwind->caller);
	/* C1 pushes a stub's arguments. */
	unwind->is_checked = 1;
	return error;
}

#endif
