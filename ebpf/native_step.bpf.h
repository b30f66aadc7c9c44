/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * native_step(): steps from one native frame to its caller, by stack deltas. It is inlined into every
 * unwinder program, so that native frames between interpreted ones cost no tail call. The same source
 * runs in user space over emulated helpers (ebpf/host).
 *
 * It trusts the tables that user space wrote, except for memory safety, which the verifier ensures. It
 * trusts nothing that it reads from the process: each step goes up the stack, or through a signal
 * frame, or ends the unwind.
 */
#ifndef EBPF_NATIVE_STEP_BPF_H
#define EBPF_NATIVE_STEP_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/code_copy.bpf.h"
#include "ebpf/guess_caller.bpf.h"
#include "ebpf/jit_entry.bpf.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/new_code.bpf.h"
#include "ebpf/process_mappings.bpf.h"
#include "ebpf/read_window.bpf.h"
#include "ebpf/regex_code.bpf.h"
#include "ebpf/rule_lookup.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/signal_trampoline.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/uprobes.bpf.h"

enum {
	/** Split stacks have a part for each few calls. */
	STACK_SWITCHES_MAX = 256,
};

/* Gets the value of DWARF register @number in this frame. */
static __always_inline enum unwind_error known_register(struct unwind_state *state, __u32 number,
							__u64 *value)
{
	if (number >= REGISTER_COUNT_MAX)
		return UNWIND_REGISTER_UNKNOWN;
	if (state->registers_known ||
	    (number == RBX_REGISTER && state->rbx_location == RBX_IN_REGISTER)) {
		*value = state->registers[number];
		return UNWIND_OK;
	}
	if (number != RBX_REGISTER || state->rbx_location == RBX_NOWHERE)
		return UNWIND_REGISTER_UNKNOWN;
	return read_word(state->rbx_location, value);
}

/* Computes the canonical frame address of this frame, which is the caller's sp. */
static __always_inline enum unwind_error frame_cfa(struct unwind_state *state,
						   const struct unwind_rule *rule, __u64 *cfa)
{
	enum unwind_error error;
	__u64 base = 0;

	switch (rule->cfa) {
	case CFA_SP:
	case CFA_DEREF_SP:
	case CFA_PLT:
		base = state->sp;
		break;
	case CFA_DEREF_SP_INDEXED:
		error = known_register(state, rule->cfa_register, &base);
		if (error)
			return error;
		base = state->sp + 8 * base;
		break;
	case CFA_FP:
	case CFA_DEREF_FP:
		if (!state->fp_known)
			return UNWIND_REGISTER_UNKNOWN;
		base = state->fp;
		break;
	case CFA_REGISTER:
	case CFA_DEREF_REGISTER:
		error = known_register(state, rule->cfa_register, &base);
		if (error)
			return error;
		break;
	default:
		return UNWIND_UNSUPPORTED_RULE;
	}
	base += rule->cfa_offset;
	if (rule->cfa == CFA_PLT && (state->pc & 15) >= (__u32)rule->cfa_addend)
		base += 8;
	if ((rule->cfa >= CFA_DEREF_SP && rule->cfa <= CFA_DEREF_REGISTER) ||
	    rule->cfa == CFA_DEREF_SP_INDEXED) {
		error = read_word(base, &base);
		if (error)
			return error;
		base += rule->cfa_addend;
	}
	*cfa = base;
	return UNWIND_OK;
}

/* Gets the caller's value of a register, whose location is @kind and @offset. */
static __always_inline enum unwind_error saved_value(struct unwind_state *state, __u32 kind,
						     __s32 offset, __u64 cfa, __u64 *value)
{
	__u64 base = cfa;

	if (kind == SAVED_IN_REGISTER)
		return known_register(state, offset, value);
	if (kind == SAVED_AT_FP) {
		if (!state->fp_known)
			return UNWIND_REGISTER_UNKNOWN;
		base = state->fp;
	} else if (kind == SAVED_AT_SP) {
		base = state->sp;
	} else if (kind != SAVED_AT_CFA) {
		return UNWIND_UNSUPPORTED_RULE;
	}
	return window_read_up(&state->stack, base + offset, value);
}

static __always_inline bool is_saved_in_memory(__u32 kind)
{
	return kind == SAVED_AT_CFA || kind == SAVED_AT_FP || kind == SAVED_AT_SP;
}

/* True if the caller's stack may begin at @cfa: above this frame, or anywhere if the rule switches stacks. */
static __always_inline bool is_progress(struct unwind_state *state, const struct unwind_rule *rule,
					__u64 cfa)
{
	if (cfa > state->sp)
		return true;
	if (rule->flags & RULE_SWITCHES_STACK)
		return state->stack_switch_count++ < STACK_SWITCHES_MAX;
	/* If nothing was pushed, the caller's sp may equal this frame's. This is so only in a leaf. */
	return cfa == state->sp && !is_saved_in_memory(rule->ra);
}

/*
 * GCC's functions that realign their stack say that the caller's frame pointer is saved at the address in the register
 * until they return. This is not so before the register is set, and behind the instruction that restores it. Above the
 * saved frame pointer such a frame has a copy of the return address.
 */
static __always_inline bool has_realigned_frame(const struct unwind_state *state,
						const struct unwind_rule *rule,
						__u64 return_address)
{
	__u64 copy = 0;

	return !read_word(state->fp + rule->fp_offset + 8, &copy) && copy == return_address;
}

/* True for a rule of such a function in which the CFA does not depend on the frame pointer. */
static __always_inline bool may_be_realigned(const struct unwind_rule *rule)
{
	return FRAME_POINTER_TELLS_SP && rule->fp == SAVED_AT_FP &&
	       (rule->cfa == CFA_REGISTER || rule->cfa == CFA_SP);
}

/* Sets the state to the caller, whose sp is @cfa. A frame pointer that cannot be read is unknown from there on. */
static __always_inline enum unwind_error restore_caller(struct unwind_state *state,
							const struct unwind_rule *rule, __u64 cfa)
{
	__u64 return_address = 0, fp = state->fp;
	__u32 fp_known = state->fp_known;
	enum unwind_error error;

	/* First fp, which is below the return address: the window extends upwards from it. */
	if (rule->fp == SAVED_UNDEFINED)
		fp_known = 0;
	else if (rule->fp != SAVED_SAME)
		fp_known = !saved_value(state, rule->fp, rule->fp_offset, cfa, &fp);
	if (rule->ra == SAVED_SAME)
		error = known_register(state, LINK_REGISTER, &return_address);
	else
		error = saved_value(state, rule->ra, rule->ra_offset, cfa, &return_address);
	if (error)
		return error;
	if (!is_progress(state, rule, cfa))
		return UNWIND_NO_PROGRESS;
	if (may_be_realigned(rule) && !has_realigned_frame(state, rule, return_address)) {
		fp = state->fp;
		fp_known = state->fp_known;
	}
	if (rule->rbx_slot)
		state->rbx_location = rule->rbx_slot == RBX_LOST ? RBX_NOWHERE :
								   cfa - 8 * rule->rbx_slot;
	state->pc = code_address(return_address);
	state->sp = cfa;
	state->fp = fp;
	state->fp_known = fp_known;
	state->sp_known = 1;
	state->frame_flags = FRAME_RETURN_ADDRESS | (rule->flags & RULE_GUESS ? FRAME_GUESS : 0);
	state->registers_known = 0;
	return UNWIND_OK;
}

/* Steps out of setcontext() to the frame of the context, which has called getcontext() or another function. */
static __always_inline enum unwind_error restore_context(struct unwind_state *state,
							 const struct unwind_rule *rule)
{
	enum unwind_error error;
	__u64 context = 0;

	error = known_register(state, rule->cfa_register, &context);
	if (error)
		return error;
	error = read_signal_frame(context, state->registers);
	if (error)
		return error;
	state_start_at_registers(state);
	state->frame_flags = FRAME_RETURN_ADDRESS;
	return UNWIND_OK;
}

/*
 * True for a leaf where nothing can be mapped: a call through a null pointer, or into the vsyscall page,
 * whose calls the kernel emulates. Both have just been called and have no frame yet.
 */
static __always_inline bool is_unmapped_call(const struct unwind_state *state)
{
	return !(state->frame_flags & FRAME_RETURN_ADDRESS) &&
	       (state->pc == 0 || is_vsyscall(state->pc));
}

static __always_inline enum unwind_error step_unmapped_call(struct unwind_state *state)
{
	enum unwind_error error;

	error = push_frame(state, frame_word(FRAME_NATIVE, 0, state->pc), EXECUTABLE_ID_UNMAPPED);
	if (error)
		return error;
	return restore_caller(state, &rule_at_call, state->sp + RETURN_ADDRESS_BYTES);
}

/* True if the rule cannot be applied where sp is not known. */
static __always_inline bool needs_sp(const struct unwind_rule *rule)
{
	return rule->cfa == CFA_SP || rule->cfa == CFA_DEREF_SP || rule->cfa == CFA_PLT ||
	       rule->cfa == CFA_SIGNAL || rule->ra == SAVED_AT_SP || rule->fp == SAVED_AT_SP;
}

/* True in the child of a clone(), on its new stack. Only a leaf can be there. */
static __always_inline bool is_child(const struct unwind_state *state,
				     const struct unwind_rule *rule)
{
	return (rule->flags & RULE_ENDS_IN_CHILD) && state->registers_known &&
	       !state->registers[RESULT_REGISTER];
}

/* True in the first function of a coroutine whose stack is copied away and back. */
static __always_inline bool is_copied_start(const struct unwind_state *state,
					    const struct unwind_rule *rule)
{
	return (rule->flags & RULE_COPIES_STACKS) && state->frames_are_used_up;
}

/*
 * True if there is no caller: stacks that programs make for themselves begin with a return address
 * of 0 and, as the ABIs ask for, a frame pointer of 0. A 0 alone is also found where a frame is being
 * changed (libgcc's when it throws).
 */
static __always_inline bool is_stack_start(const struct unwind_state *state,
					   const struct unwind_rule *rule)
{
	return !state->pc && !state->fp && state->fp_known && !(rule->flags & RULE_GUESS);
}

/* Asks for a guess of the caller, which another function makes, since the verifier follows this one often. */
static __always_inline enum unwind_error ask_for_guess(struct unwind_state *state,
						       enum unwind_error error)
{
	state->guess_for = error;
	state->guess_count++;
	return UNWIND_OK;
}

/**
 * Appends the frame of state->pc and steps to its caller. Then the state is the caller's, or
 * state->at_end is set, or state->guess_for is set, and guess_caller() must be called. If
 * state->compare_pages_left is set, no frame was added yet: compare_code_step() must be called. If
 * state->language is set, that language's step comes next, for one of the four tasks in
 * languages.bpf.h. On errors the unwind must end; the frame was added if its file is known. @uses_copies, a constant: rows of
 * copies of anonymous code are used.
 */
static __always_inline enum unwind_error native_step(struct unwind_state *state, bool uses_copies)
{
	__u64 address = state->pc - (state->frame_flags & FRAME_RETURN_ADDRESS), sp = state->sp;
	__u64 cfa = 0;
	const struct unwind_rule *rule;
	struct cached_mapping *mapping;
	enum unwind_error error;

	error = find_mapping(state, address);
	/* The index must be read from memory again, else the verifier would follow each of its values separately. */
	barrier();
	mapping = &state->mappings[state->last_mapping % MAPPING_CACHE_COUNT];
	if ((error == UNWIND_NO_MAPPING || mapping->executable_id == EXECUTABLE_ID_ANONYMOUS) &&
	    wait_for_code(state))
		return UNWIND_OK;
	if (error || mapping->executable_id == EXECUTABLE_ID_UPROBES) {
		if (see_through_uprobe(state))
			return UNWIND_OK;
		if (error && is_unmapped_call(state))
			return step_unmapped_call(state);
		/* Above a coroutine that runs nothing of its language yet, or no more, is what another one has left. */
		if (error == UNWIND_NO_MAPPING && state->is_above_copied) {
			state->at_end = 1;
			return UNWIND_OK;
		}
		if (error == UNWIND_NO_MAPPING)
			state->unknown_address = address;
		if (error)
			return error;
	}
	if (uses_copies && mapping->executable_id == EXECUTABLE_ID_ANONYMOUS &&
	    compare_code_begin(state, mapping, address))
		return UNWIND_OK;
	error = push_frame(state,
			   frame_word(FRAME_NATIVE, state->frame_flags, state->pc - mapping->bias),
			   mapping->executable_id);
	if (error)
		return error;
	if (!uses_copies && mapping->executable_id == EXECUTABLE_ID_ANONYMOUS)
		error = UNWIND_ANONYMOUS;
	else
		error = find_rule(state, mapping, address, &rule);
	if (!error && rule->cfa == CFA_NONE)
		error = UNWIND_NO_INFO;
	if (uses_copies && mapping->executable_id == EXECUTABLE_ID_ANONYMOUS &&
	    (error || !state->code_is_as_copied))
		error = UNWIND_ANONYMOUS;
	if (error == UNWIND_NO_INFO && is_signal_return(state->pc))
		return restore_interrupted(state);
	if (error == UNWIND_NO_INFO || error == UNWIND_ANONYMOUS)
		return ask_for_guess(state, error);
	if (error)
		return error;
	if (rule->cfa == CFA_LANGUAGE && rule->flags & RULE_LOOP && !state->runtime_cell)
		return ask_for_guess(state, UNWIND_NO_INFO);
	if (rule->cfa == CFA_LANGUAGE) {
		wait_at_frame(state, mapping->executable_id, rule);
		return UNWIND_OK;
	}
	if (!FRAME_POINTER_TELLS_SP && !state->sp_known && needs_sp(rule))
		return ask_for_guess(state, UNWIND_NO_INFO);
	if (rule->cfa == CFA_END && rule->flags & RULE_BEGINS_STACK) {
		wait_at_stack_start(state);
		return UNWIND_OK;
	}
	if (rule->cfa == CFA_END || is_child(state, rule) || is_copied_start(state, rule)) {
		state->at_end = 1;
		return UNWIND_OK;
	}
	if (rule->cfa == CFA_SIGNAL)
		return restore_interrupted(state);
	if (rule->cfa == CFA_CONTEXT)
		return restore_context(state, rule);
	error = frame_cfa(state, rule, &cfa);
	if (error)
		return error;
	if (rule->flags & RULE_LOOP)
		state->pending_fp = state->fp_known ? state->fp : 0;
	state->is_above_copied = rule->flags & RULE_COPIES_STACKS;
	error = restore_caller(state, rule, cfa);
	/* Code that anybody may have written does not end a stack. */
	if (uses_copies && !error && !state->pc &&
	    mapping->executable_id == EXECUTABLE_ID_ANONYMOUS)
		return UNWIND_ANONYMOUS;
	if (!error && is_stack_start(state, rule))
		wait_at_stack_start(state);
	if (!error && rule->flags & RULE_LOOP && state->runtime_cell)
		set_pending_frame(state, mapping->executable_id, sp);
	return error;
}

/** native_step() in a chain of tail calls. */
static __always_inline enum unwind_error native_step_of_chain(struct unwind_state *state)
{
	if (!CHAINS_UNWIND_OWN_CODE)
		decline_code_of_all(state);
	return native_step(state, false);
}

/** A step with bpf_loop(): native_step(), or one step of a comparison, a guess or a search that an earlier step has asked for. */
static __always_inline enum unwind_error native_step_or_guess(struct unwind_state *state)
{
	enum unwind_error error = UNWIND_OK;
	bool was_in_loop_search = state->jit_words_left;

	if (state->compare_pages_left) {
		compare_code_step(state);
		return UNWIND_OK;
	}
	if (was_in_loop_search) {
		jit_entry_step(state);
	} else if (state->regex_words_left) {
		regex_code_step(state);
	} else if (!state->guess_for) {
		error = native_step(state, true);
		if (error == UNWIND_NO_MAPPING && find_new_code(state, state->unknown_address))
			return UNWIND_OK;
		if (state->guess_for)
			regex_code_begin(state);
	}
	if (!state->guess_for || state->regex_words_left)
		return error;
	if (!was_in_loop_search)
		jit_entry_begin(state);
	return state->jit_words_left ? error : guess_caller(state, true);
}

#endif
