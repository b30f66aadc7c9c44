/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * java_step(): from one frame in HotSpot's code cache to its caller: of compiled methods, of the
 * interpreter, of stubs, and of call_stub, by which native code has called Java. They hang together by
 * stack pointer and frame pointer alone, so nothing of the thread has to be known. Source:
 * cpu/x86/{frame_x86,stubGenerator_x86_64,templateInterpreterGenerator_x86,macroAssembler_x86}.* of
 * OpenJDK 8 to 27. x86-64; on arm64 callers are guessed (wait_for_java()).
 *
 * Nothing of the process is trusted: each step goes up the stack, to an address in the code cache, or
 * through call_stub, or ends the walk.
 */
#ifndef EBPF_JAVA_STEP_BPF_H
#define EBPF_JAVA_STEP_BPF_H

#include "ebpf/java_frame.bpf.h"
#include "ebpf/java_leaf.bpf.h"
#include "ebpf/java_stub.bpf.h"

enum {
	JAVA_STEPS_MAX = USER_FRAMES_MAX,
	/* In words from the interpreter's frame pointer down: the caller's stack pointer, the Method. */
	JAVA_SENDER_SP_SLOT = 1,
	JAVA_METHOD_SLOT = 3,
	/* The same of call_stub: rbx. */
	JAVA_CALL_STUB_RBX_SLOT = 7,
	/* Words that compiled code may have pushed onto its frame, */
	JAVA_EXTRA_WORDS_MAX = 5,
	/* and how far the stack pointer may be that it keeps: two strings of 16 bytes, four words, one lost. */
	JAVA_SAVED_SP_MAX_BYTES = 72,
};

/* To walk->caller: up the stack, and out of Java's code only where that is called, or rows say so. */
static __always_inline enum unwind_error java_go_on(struct walk_state *state,
						    const struct java_walk *walk)
{
	const struct java_caller *caller = &walk->caller;
	bool is_code = java_is_code(walk, caller->pc);

	if (caller->sp <= state->sp || caller->sp - state->sp > JAVA_FRAME_MAX_BYTES)
		return UNWIND_NO_PROGRESS;
	if (!is_code && !caller->is_known && !java_is_called_by_native(state, walk))
		return UNWIND_NO_INFO;
	state->pc = caller->pc;
	state->sp = caller->sp;
	state->fp = caller->fp;
	state->fp_known = caller->fp_known;
	state->sp_known = 1;
	state->frame_flags = FRAME_RETURN_ADDRESS | caller->flags;
	state->registers_known = 0;
	state->rbx_place = caller->rbx_place;
	state->language = is_code ? FRAME_JAVA : FRAME_NONE;
	return UNWIND_OK;
}

static __always_inline enum unwind_error java_leave_call_stub(struct walk_state *state,
							      struct java_walk *walk)
{
	enum unwind_error error;

	error = java_push_stub(state);
	if (!error)
		error = java_read_frame(state, &walk->caller);
	walk->caller.rbx_place = state->fp - 8 * JAVA_CALL_STUB_RBX_SLOT;
	walk->is_checked = 1;
	return error;
}

static __always_inline enum unwind_error java_push_compiled(struct walk_state *state,
							    const struct java_walk *walk)
{
	__u32 compile_id = 0, fingerprint = 0;
	__u64 method = 0, position = JAVA_COMPILED | (__u32)(state->pc - walk->code_start);

	if (!read_word(walk->blob + walk->process.nmethod_method, &method) &&
	    !bpf_probe_read_user(&compile_id, sizeof(compile_id),
				 (const void *)(walk->blob + walk->process.nmethod_compile_id)))
		fingerprint = java_fingerprint(method, compile_id);
	return push_frame(state, frame_word(FRAME_JAVA, state->frame_flags, walk->blob),
			  position << 32 | fingerprint);
}

/*
 * Adds the frame of the interpreter's @method; @bcp is where it is read, or @saved_bcp where it was.
 * UNWIND_NO_INFO if it is no Method.
 */
static __always_inline enum unwind_error java_push_interpreted(struct walk_state *state,
							       const struct java_walk *walk,
							       __u64 method, __u64 bcp,
							       __u64 saved_bcp)
{
	__u64 const_method = 0, constants = 0, word = 0, bci;

	if (read_word(method + walk->process.method_const_method, &const_method) ||
	    read_word(const_method + walk->process.const_method_constants, &constants) ||
	    read_word(const_method + walk->process.const_method_code_size, &word))
		return UNWIND_NO_INFO;
	bci = bcp - const_method - walk->process.const_method_bytes;
	if (bci >= (__u16)word)
		bci = saved_bcp - const_method - walk->process.const_method_bytes;
	if (bci >= (__u16)word)
		bci = JAVA_NO_BCI;
	return push_frame(state, frame_word(FRAME_JAVA, state->frame_flags, method),
			  bci << 32 | java_fingerprint(constants, java_method_word(word)));
}

/* A frame of the interpreter that has been set up. */
static __always_inline enum unwind_error java_leave_interpreted(struct walk_state *state,
								struct java_walk *walk)
{
	struct java_caller *caller = &walk->caller;
	enum unwind_error error = java_read_frame(state, caller);
	__u64 method = 0, saved_bcp = 0, bcp = 0, sender_sp = 0;

	if (error)
		return error;
	if (window_read_up(&state->stack, state->fp - 8 * walk->process.bcp_slot, &saved_bcp) ||
	    window_read_up(&state->stack, state->fp - 8 * JAVA_METHOD_SLOT, &method) ||
	    window_read_up(&state->stack, state->fp - 8 * JAVA_SENDER_SP_SLOT, &sender_sp))
		return UNWIND_STACK_UNREADABLE;
	/* While it executes, the slot is an older one; at its beginning the Method is not pushed yet. */
	if (java_is_leaf(state)) {
		bcp = state->registers[JAVA_BCP_REGISTER];
		if (state->fp - 8 * JAVA_METHOD_SLOT < state->sp)
			method = state->registers[JAVA_METHOD_REGISTER];
	}
	/* A method handle's linkTo...() has popped its last argument since. */
	if (sender_sp < caller->sp - 8)
		return UNWIND_NO_INFO;
	if (sender_sp > caller->sp)
		caller->sp = sender_sp;
	return java_push_interpreted(state, walk, method, bcp, saved_bcp);
}

/*
 * At the entry of a method the frame is being made: the Method is in a register, the caller's stack
 * pointer too. The return address is popped first, to be pushed again behind the locals.
 */
static __always_inline enum unwind_error java_leave_entry(struct walk_state *state,
							  struct java_walk *walk, __u64 code)
{
	struct java_caller *caller = &walk->caller;
	enum unwind_error error = UNWIND_OK;

	if (state->fp == state->sp || state->fp == state->sp + 8 || state->fp == state->sp + 16) {
		error = java_read_pair(state, state->fp, caller);
	} else if (java_is_behind_push_fp(code)) {
		error = java_read_pair(state, state->sp, caller);
	} else {
		error = java_read_return(state, state->sp, caller);
		java_check_return(walk, caller->pc);
		if (!walk->check)
			caller->pc = state->registers[JAVA_RETURN_REGISTER];
	}
	if (error)
		return error;
	caller->sp = state->registers[JAVA_SENDER_SP_REGISTER];
	/* The method has not begun. */
	return java_push_interpreted(state, walk, state->registers[JAVA_METHOD_REGISTER], 0, 0);
}

/* Behind the frame: its caller's stack pointer and its return address are in registers at last. */
static __always_inline enum unwind_error
java_leave_return(struct walk_state *state, struct java_walk *walk, enum java_place place)
{
	struct java_caller *caller = &walk->caller;
	enum unwind_error error = java_read_return(state, state->sp, caller);

	if (error)
		return error;
	if (place != JAVA_RETURN_POP)
		caller->pc = state->registers[JAVA_BCP_REGISTER];
	caller->sp = place == JAVA_RETURN_JUMP ? state->sp :
						 state->registers[JAVA_RETURN_SP_REGISTER];
	error = java_push_stub(state);
	if (error)
		return error;
	/* The stack is the caller's already. */
	if (caller->sp == state->sp)
		state->sp -= 8;
	return UNWIND_OK;
}

static __always_inline enum unwind_error java_step_interpreter(struct walk_state *state,
							       struct java_walk *walk)
{
	__u64 code = 0, more = 0, sender_sp;
	enum java_place place;

	walk->is_checked = 0;
	if (!java_is_leaf(state))
		return java_leave_interpreted(state, walk);
	if (read_word_pair(state->pc, &code, &more))
		return UNWIND_NO_INFO;
	place = java_return_place(code, more);
	if (place != JAVA_IN_FRAME)
		return java_leave_return(state, walk, place);
	if (java_is_in_frame(code))
		return java_leave_interpreted(state, walk);
	/* No bytecode lies on the stack: so it is the entry, where the register is the stack pointer. */
	sender_sp = state->registers[JAVA_SENDER_SP_REGISTER];
	if (sender_sp > state->sp && sender_sp - state->sp < JAVA_FRAME_MAX_BYTES)
		return java_leave_entry(state, walk, code);
	return java_leave_interpreted(state, walk);
}

/* What C1 has pushed for a stub, which it pops behind the call, at @pc: two words at most. */
static __always_inline __u64 java_pushed_bytes(__u64 pc)
{
	__u64 code = 0, bytes = 0;

	if (read_word(pc, &code))
		return 0;
	for (int i = 0; i < 2; i++) {
		code >>= (code & 0xff) == 0x41 ? 8 : 0;
		/* pop, but of neither rsp nor rbp */
		if ((code & 0xf8) != 0x58 || (code & 0xfe) == 0x5c)
			break;
		bytes += 8;
		code >>= 8;
	}
	return bytes;
}

/*
 * The stack pointer that a method will go back to, if it has saved registers below its frame, or 0. C2's
 * string_indexof() may put strings onto the stack, and keeps it lowest of all, while it runs itself. Where
 * the frame would have the frame pointer, a place on the stack is none.
 */
static __always_inline __u64 java_saved_sp(struct walk_state *state, const struct java_walk *walk)
{
	__u64 word = java_is_leaf(state) ? 0 : java_pushed_bytes(state->pc);

	if (!word)
		word = java_saved_bytes(state->pc);
	if (word)
		return state->sp + word;
	if (!java_is_leaf(state) || walk->frame_bytes <= 16 ||
	    window_read_up(&state->stack, state->sp, &word))
		return 0;
	if (word % 16 || word <= state->sp || word - state->sp > JAVA_SAVED_SP_MAX_BYTES)
		return 0;
	return java_is_in_search(state->pc) ? word : 0;
}

/*
 * The same if it may have pushed words onto the frame. What earlier calls have left on the stack looks like
 * a return address as well, so what is known goes first.
 */
static __always_inline enum unwind_error
java_read_checked(struct walk_state *state, struct java_walk *walk, struct java_caller *caller)
{
	/* Frames are multiples of 16 bytes: whether the number is odd is known. */
	__u64 first = state->sp % 16, saved_sp = java_saved_sp(state, walk);

	if (state->sp % 8)
		return UNWIND_NO_INFO;
	if (saved_sp && !java_try_frame(state, walk, saved_sp, caller) && walk->check)
		return UNWIND_OK;
	for (__u64 extra = first; extra <= 8 * JAVA_EXTRA_WORDS_MAX; extra += 16) {
		if (java_try_frame(state, walk, state->sp + extra, caller))
			return UNWIND_STACK_UNREADABLE;
		if (walk->check) {
			caller->flags = extra < 16 ? 0 : FRAME_GUESS;
			return UNWIND_OK;
		}
	}
	return UNWIND_NO_INFO;
}

static __always_inline enum unwind_error
java_read_compiled(struct walk_state *state, struct java_walk *walk, struct java_caller *caller)
{
	enum java_place place;

	walk->place = JAVA_IN_FRAME;
	if (java_is_leaf(state)) {
		walk->place = java_leaf_place(walk, state->pc);
		walk->is_checked = 1;
	}
	barrier();
	place = walk->place;
	if (!walk->frame_bytes || place == JAVA_AT_CALL)
		return java_read_return(state, state->sp, caller);
	if (place == JAVA_AT_SAVED_FP)
		return java_read_pair(state, state->sp, caller);
	if (place == JAVA_AT_LEAVE)
		return java_read_frame(state, caller);
	if (place == JAVA_FP_NOT_SAVED)
		return java_read_return(state, state->sp + walk->frame_bytes - 8, caller);
	if (walk->is_checked)
		return java_read_checked(state, walk, caller);
	return java_read_pair(state, state->sp + walk->frame_bytes - 16, caller);
}

static __always_inline enum unwind_error java_step_compiled(struct walk_state *state,
							    struct java_walk *walk)
{
	enum unwind_error error = java_push_compiled(state, walk);

	if (!error)
		error = java_read_compiled(state, walk, &walk->caller);
	walk->is_checked = 0;
	return error;
}

/* Adds the frame, and fills walk->caller. */
static __always_inline enum unwind_error java_add_frame(struct walk_state *state,
							struct java_walk *walk)
{
	enum unwind_error error;

	walk->caller = (struct java_caller){ .rbx_place = RBX_NOWHERE };
	walk->blob = 0;
	if (walk->entry_words_left)
		return java_seek_entry(state, walk);
	if (state->pc == walk->process.call_stub_return)
		return java_leave_call_stub(state, walk);
	if (java_is_interpreter(walk, state->pc))
		return java_step_interpreter(state, walk);
	error = java_find_blob(walk, state->pc);
	if (error)
		return error;
	barrier();
	return walk->is_nmethod ? java_step_compiled(state, walk) : java_step_stub(state, walk);
}

/**
 * From the frame at state->pc to its caller; adds the frame. Where that is no code of Java's, it is the
 * native steps' again.
 */
static __always_inline enum unwind_error java_step(struct walk_state *state)
{
	struct java_walk *walk = &state->java;
	enum unwind_error error;

	state->language = FRAME_NONE;
	if (!java_load_process(state) || !java_is_code(walk, state->pc)) {
		walk->other_code = state->pc;
		return UNWIND_OK;
	}
	error = java_add_frame(state, walk);
	barrier();
	if (!error && walk->entry_words_left)
		state->language = FRAME_JAVA;
	else if (!error)
		error = java_go_on(state, walk);
	return error;
}

#endif
