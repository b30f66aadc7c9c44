/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * java_step(): steps from one frame in HotSpot's code cache to its caller. The frames are those of compiled
 * methods, of the interpreter, of stubs, and of call_stub, through which native code calls Java. They are
 * linked only by stack pointer and frame pointer, so no data of the thread is needed. Source:
 * cpu/x86/{frame_x86,stubGenerator_x86_64,templateInterpreterGenerator_x86,macroAssembler_x86}.* and the
 * same of cpu/aarch64 of OpenJDK 8 to 27. Frames of both have the same slots; java_machine.bpf.h has the
 * differences in instructions.
 *
 * Nothing of the process is trusted: each step goes up the stack, to an address in the code cache, or
 * through call_stub, or ends the unwind.
 */
#ifndef EBPF_JAVA_STEP_BPF_H
#define EBPF_JAVA_STEP_BPF_H

#include "ebpf/java/java_frame.bpf.h"
#include "ebpf/java/java_machine.bpf.h"
#include "ebpf/java/java_stub.bpf.h"

enum {
	JAVA_STEPS_MAX = USER_FRAMES_MAX,
	/*
	 * Slots of the interpreter's frame, in words below its frame pointer: the caller's stack pointer, its own
	 * stack pointer while it calls Java, the Method.
	 */
	JAVA_SENDER_SP_SLOT = 1,
	JAVA_LAST_SP_SLOT = 2,
	JAVA_METHOD_SLOT = 3,
	/* Slot of rbx in call_stub's frame. */
	JAVA_CALL_STUB_RBX_SLOT = 7,
	/* Limit of the words that compiled code may have pushed below its frame. */
	JAVA_EXTRA_WORDS_MAX = 5,
};

/*
 * True if the caller's stack is above this frame's. It may be equal for a leaf on arm64, which may have no stack, and for
 * a leaf by a row: at the end of frames that were copied back to the stack.
 */
static __always_inline bool java_is_progress(const struct unwind_state *state,
					     const struct java_caller *caller)
{
	if (caller->sp == state->sp)
		return java_is_leaf(state) && (!RETURN_ADDRESS_BYTES || caller->is_known);
	return caller->sp > state->sp && caller->sp - state->sp <= JAVA_FRAME_MAX_BYTES;
}

/* Goes to unwind->caller: up the stack, and out of Java's code only from frames that native code calls, or by rows. */
static __always_inline enum unwind_error java_go_on(struct unwind_state *state,
						    const struct java_unwind *unwind)
{
	const struct java_caller *caller = &unwind->caller;
	bool is_code = java_is_code(unwind, caller->pc);

	if (!java_is_progress(state, caller))
		return UNWIND_NO_PROGRESS;
	if (!is_code && !caller->is_known && !java_is_called_by_native(state, unwind))
		return UNWIND_NO_INFO;
	state->pc = caller->pc;
	state->sp = caller->sp;
	state->fp = caller->fp;
	state->fp_known = caller->fp_known;
	state->sp_known = 1;
	state->frame_flags = FRAME_RETURN_ADDRESS | caller->flags;
	state->registers_known = 0;
	state->rbx_location = caller->rbx_location;
	state->language = is_code ? FRAME_JAVA : FRAME_NONE;
	return UNWIND_OK;
}

static __always_inline enum unwind_error java_leave_call_stub(struct unwind_state *state,
							      struct java_unwind *unwind)
{
	enum unwind_error error;

	error = java_push_stub(state);
	if (!error)
		error = java_read_frame(state, &unwind->caller);
	unwind->caller.rbx_location = state->fp - 8 * JAVA_CALL_STUB_RBX_SLOT;
	unwind->is_checked = 1;
	return error;
}

/*
 * Sets unwind->position to the frame's position. For a deoptimized frame the JVM has saved the original pc, and
 * state->pc is a handler, which is behind all code that calls.
 */
static __always_inline void java_find_position(struct unwind_state *state,
					       struct java_unwind *unwind)
{
	__u64 original = 0;

	unwind->position = state->pc - unwind->code_start;
	if (unwind->original_pc_offset >= unwind->frame_bytes ||
	    !(state->frame_flags & FRAME_RETURN_ADDRESS) ||
	    window_read_up(&state->stack, state->sp + unwind->original_pc_offset, &original))
		return;
	original = code_address(original) - unwind->code_start;
	if (original < unwind->position)
		unwind->position = original;
}

static __always_inline enum unwind_error java_push_compiled(struct unwind_state *state,
							    struct java_unwind *unwind)
{
	java_find_position(state, unwind);
	barrier();
	return push_frame(state, frame_word(FRAME_JAVA, state->frame_flags, unwind->blob),
			  (__u64)(JAVA_COMPILED | unwind->position) << 32 | unwind->fingerprint);
}

/* Reads the two words of @const_method for the fingerprint; the second has the size of its bytecode. */
static __always_inline enum unwind_error java_read_const_method(struct java_unwind *unwind,
								__u64 const_method,
								__u64 *constants, __u64 *sizes)
{
	__u32 offset =
		unwind->process.const_method_code_size - unwind->process.const_method_constants;
	__u32 shift = 8 * (offset % 8);
	__u64 words[JAVA_CONST_METHOD_MAX_BYTES / 8];

	if (offset > JAVA_CONST_METHOD_MAX_BYTES - 8 ||
	    bpf_probe_read_user(
		    words, sizeof(words),
		    (const void *)(const_method + unwind->process.const_method_constants)))
		return UNWIND_NO_INFO;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	*constants = unwind->head[0];
	*sizes = java_head_field(unwind, offset, 8);
	if (shift)
		*sizes |= java_head_field(unwind, offset + 8 - offset % 8, 8) << (64 - shift);
	return UNWIND_OK;
}

/*
 * Reads the class of a ConstantPool, and how often that had been redefined when it was made, in one read; both 0:
 * not known.
 */
static __always_inline void java_read_class(struct java_unwind *unwind, __u64 constants,
					    __u64 *holder, __u32 *version)
{
	__u32 offset = unwind->process.constants_version - unwind->process.constants_holder;
	__u64 words[JAVA_CONSTANTS_BYTES / 8];

	if (!unwind->process.constants_version ||
	    offset > JAVA_CONSTANTS_BYTES - sizeof(*version) ||
	    bpf_probe_read_user(words, sizeof(words),
				(const void *)(constants + unwind->process.constants_holder)))
		return;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	*holder = unwind->head[0];
	*version = java_head_field(unwind, offset, 4);
}

/* Returns the index of the bytecode at @bcp, or else at @saved_bcp; if both are 0, that of the first. */
static __always_inline __u64 java_bci(const struct java_unwind *unwind, __u64 const_method,
				      __u64 sizes, __u64 bcp, __u64 saved_bcp)
{
	__u64 codes = const_method + unwind->process.const_method_bytes, bytes = (__u16)sizes;

	if (bcp - codes < bytes)
		return bcp - codes;
	if (saved_bcp - codes < bytes)
		return saved_bcp - codes;
	return bcp || saved_bcp || !bytes ? JAVA_NO_BCI : 0;
}

/*
 * Adds the frame of the interpreter's @method. @bcp is the address of the bytecode, @saved_bcp that in the frame's
 * slot. UNWIND_NO_INFO if @method is no Method.
 */
static __always_inline enum unwind_error java_push_interpreted(struct unwind_state *state,
							       struct java_unwind *unwind,
							       __u64 method, __u64 bcp,
							       __u64 saved_bcp)
{
	struct java_cached *cached = java_cached_at(unwind, method);
	__u64 const_method = cached->object, constants = 0, sizes = cached->sizes,
	      bci = JAVA_NO_BCI;
	__u64 holder = 0;
	__u32 version = 0;

	/* A ConstMethod whose bytecode is executed still exists, and belongs to the Method. */
	if (java_is_cached(unwind, cached, method) &&
	    (cached->number == unwind->method_number ||
	     !java_read_const_method(unwind, const_method, &constants, &sizes)))
		bci = java_bci(unwind, const_method, sizes, bcp, saved_bcp);
	barrier();
	if (bci == JAVA_NO_BCI || !bci) {
		if (read_word(method + unwind->process.method_const_method, &const_method) ||
		    java_read_const_method(unwind, const_method, &constants, &sizes))
			return UNWIND_NO_INFO;
		bci = java_bci(unwind, const_method, sizes, bcp, saved_bcp);
		cached = java_new_cached(unwind, method);
		cached->object = const_method;
		cached->number = 0;
	}
	if (cached->number != unwind->method_number) {
		cached->number = unwind->method_number;
		cached->sizes = sizes;
		java_read_class(unwind, constants, &holder, &version);
		cached->fingerprint =
			java_method_fingerprint(constants, sizes, unwind->unloads, holder, version);
	}
	return push_frame(state, frame_word(FRAME_JAVA, state->frame_flags, method),
			  bci << 32 | cached->fingerprint);
}

/*
 * True for a frame that deoptimization has made and not filled yet, of which only the caller is known. It will resume
 * at an instruction that loads its stack pointer from a slot, and the slot is empty. Any other frame at such an
 * instruction has called Java, and has its stack pointer in the slot. The Method's slot is stale. A frame whose callee
 * has just begun is not unfilled: it may not have set the slot yet.
 */
static __always_inline bool java_is_unfilled(struct unwind_state *state,
					     const struct java_unwind *unwind)
{
	__u64 last_sp = 0, code = 0;

	if (java_is_leaf(state) || unwind->has_just_called ||
	    window_read_up(&state->stack, state->fp - 8 * JAVA_LAST_SP_SLOT, &last_sp) || last_sp)
		return false;
	return !read_word(state->pc, &code) && java_takes_last_sp(code);
}

/* Steps out of a complete frame of the interpreter. */
static __always_inline enum unwind_error java_leave_interpreted(struct unwind_state *state,
								struct java_unwind *unwind)
{
	struct java_caller *caller = &unwind->caller;
	__u64 method = 0, saved_bcp = 0, bcp = 0, sender_sp = 0;
	__u64 slot_address = state->fp - 8 * unwind->process.bcp_slot;
	enum unwind_error error;

	/* First the lowest word: the window extends upwards from it. If java_read_frame() fails, it is not used. */
	if (window_read_up(&state->stack, slot_address, &saved_bcp))
		return UNWIND_STACK_UNREADABLE;
	error = java_read_frame(state, caller);
	if (error)
		return error;
	if (window_read_up(&state->stack, state->fp - 8 * JAVA_METHOD_SLOT, &method) ||
	    window_read_up(&state->stack, state->fp - 8 * JAVA_SENDER_SP_SLOT, &sender_sp))
		return UNWIND_STACK_UNREADABLE;
	/* In a leaf the slot has an older bytecode; values that are not pushed yet are in registers. */
	if (java_is_leaf(state)) {
		bcp = state->registers[JAVA_BCP_REGISTER];
		if (JAVA_METHOD_IS_PUSHED_LATE && state->fp - 8 * JAVA_METHOD_SLOT < state->sp)
			method = state->registers[JAVA_METHOD_REGISTER];
		if (slot_address < state->sp)
			bcp = saved_bcp = 0;
	}
	if (sender_sp < caller->sp - JAVA_SENDER_SP_BELOW_BYTES)
		return UNWIND_NO_INFO;
	if (sender_sp > caller->sp)
		caller->sp = sender_sp;
	if (java_is_unfilled(state, unwind)) {
		caller->flags = state->frame_flags & FRAME_GUESS;
		return UNWIND_OK;
	}
	return java_push_interpreted(state, unwind, method, bcp, saved_bcp);
}

static __always_inline enum unwind_error java_step_interpreter(struct unwind_state *state,
							       struct java_unwind *unwind)
{
	enum java_position position = JAVA_IN_FRAME;
	enum unwind_error error = UNWIND_OK;

	unwind->is_checked = 0;
	unwind->has_just_called = unwind->leaf_position == JAVA_AT_ENTRY;
	if (java_is_leaf(state))
		error = java_read_outside(state, unwind, &position);
	if (error)
		return error;
	unwind->leaf_position = position;
	barrier();
	position = unwind->leaf_position;
	if (position == JAVA_AT_RETURN)
		return java_push_stub(state);
	/* The method has not begun. */
	if (position == JAVA_AT_ENTRY)
		return java_push_interpreted(state, unwind, state->registers[JAVA_METHOD_REGISTER],
					     0, 0);
	return java_leave_interpreted(state, unwind);
}

/*
 * As java_read_compiled(), for code that may have pushed words below its frame. Stale words of earlier calls look like
 * return addresses as well, so a known stack pointer is tried first.
 */
static __always_inline enum unwind_error java_read_checked(struct unwind_state *state,
							   struct java_unwind *unwind,
							   struct java_caller *caller)
{
	/* Frames are multiples of 16 bytes, so it is known whether the number of words is odd. */
	__u64 first = state->sp % 16, saved_sp = java_saved_sp(state, unwind);

	if (state->sp % 8)
		return UNWIND_NO_INFO;
	if (saved_sp && !java_try_frame(state, unwind, saved_sp, caller) && unwind->check)
		return UNWIND_OK;
	for (__u64 extra = first; extra <= 8 * JAVA_EXTRA_WORDS_MAX; extra += 16) {
		if (java_try_frame(state, unwind, state->sp + extra, caller))
			return UNWIND_STACK_UNREADABLE;
		if (unwind->check) {
			caller->flags = extra < 16 ? 0 : FRAME_GUESS;
			return UNWIND_OK;
		}
	}
	return UNWIND_NO_INFO;
}

static __always_inline enum unwind_error java_read_compiled(struct unwind_state *state,
							    struct java_unwind *unwind,
							    struct java_caller *caller)
{
	enum java_position position;

	unwind->leaf_position = JAVA_IN_FRAME;
	if (java_is_leaf(state)) {
		unwind->leaf_position = java_leaf_position(unwind, state->pc);
		unwind->is_checked = 1;
	}
	barrier();
	position = unwind->leaf_position;
	if (!unwind->frame_bytes || position == JAVA_AT_CALL)
		return java_read_return(state, state->sp, caller);
	if (position == JAVA_AT_SAVED_FP)
		return java_read_pair(state, state->sp, caller);
	if (position == JAVA_AT_LEAVE)
		return java_read_frame(state, caller);
	if (position == JAVA_FP_NOT_SAVED)
		return java_read_return(
			state, state->sp + unwind->frame_bytes - RETURN_ADDRESS_BYTES, caller);
	if (unwind->is_checked)
		return java_read_checked(state, unwind, caller);
	return java_read_pair(state, state->sp + unwind->frame_bytes - 16, caller);
}

static __always_inline enum unwind_error java_step_compiled(struct unwind_state *state,
							    struct java_unwind *unwind)
{
	enum unwind_error error = java_push_compiled(state, unwind);

	if (!error)
		error = java_read_compiled(state, unwind, &unwind->caller);
	unwind->is_checked = 0;
	return error;
}

/* Adds the frame, and fills unwind->caller. */
static __always_inline enum unwind_error java_add_frame(struct unwind_state *state,
							struct java_unwind *unwind)
{
	enum unwind_error error;

	unwind->caller = (struct java_caller){ .rbx_location = RBX_NOWHERE };
	unwind->blob = 0;
	if (unwind->entry_words_left)
		return java_seek_entry(state, unwind);
	if (state->pc == unwind->process.call_stub_return)
		return java_leave_call_stub(state, unwind);
	if (java_is_interpreter(unwind, state->pc))
		return java_step_interpreter(state, unwind);
	/* All other frames are addressed by the stack pointer. */
	if (!FRAME_POINTER_TELLS_SP && !state->sp_known)
		return UNWIND_NO_INFO;
	error = java_find_blob(unwind, state->pc);
	if (error)
		return error;
	barrier();
	return unwind->is_nmethod ? java_step_compiled(state, unwind) :
				    java_step_stub(state, unwind);
}

/*
 * Methods of an archive of shared classes are entered by jumps in the archive, up to 12. A jump has no frame, so the
 * thread is treated as if it were at the target already.
 */
static __always_inline void java_follow_jump(struct unwind_state *state,
					     const struct java_unwind *unwind)
{
	__u64 to = java_is_leaf(state) ? java_jump_target(state) : 0;

	if (to && java_is_code(unwind, to))
		state->pc = to;
}

/**
 * Adds the frame at state->pc and steps to its caller. If the caller is not in Java's code, a native step comes
 * next.
 */
static __always_inline enum unwind_error java_step(struct unwind_state *state)
{
	struct java_unwind *unwind = &state->java;
	enum unwind_error error;

	state->language = FRAME_NONE;
	unwind->check = 0;
	if (java_load_process(state)) {
		if (!java_is_code(unwind, state->pc))
			java_follow_jump(state, unwind);
		unwind->check = java_is_code(unwind, state->pc);
	}
	/* By a value in memory all paths to here are one to the verifier. */
	barrier();
	if (!unwind->check) {
		decline_code(state);
		return UNWIND_OK;
	}
	state->error = java_add_frame(state, unwind);
	barrier();
	error = state->error;
	if (!error && unwind->entry_words_left)
		state->language = FRAME_JAVA;
	else if (!error)
		error = java_go_on(state, unwind);
	return error;
}

#endif
