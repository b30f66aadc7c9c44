/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The common part of the steps out of HotSpot's code: reads frames from the stack, and finds their kind.
 */
#ifndef EBPF_JAVA_FRAME_BPF_H
#define EBPF_JAVA_FRAME_BPF_H

#include "ebpf/java/java_code.bpf.h"
#include "ebpf/read_window.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	JAVA_FRAME_MAX_BYTES = 1 << 20,
};

/* Position of a leaf in its function. */
enum java_position {
	JAVA_IN_FRAME = 0,
	/* The stack pointer is at the return address. */
	JAVA_AT_CALL = 1,
	/* The stack pointer is at the saved frame pointer, below the return address. */
	JAVA_AT_SAVED_FP = 2,
	/* The frame has its size, but the frame pointer is not saved in it yet. */
	JAVA_FP_NOT_SAVED = 3,
	/* At an instruction that pops the frame by the frame pointer. */
	JAVA_AT_LEAVE = 4,
	/* In the interpreter, before the frame is made. */
	JAVA_AT_ENTRY = 5,
	/* In the interpreter, after the frame was popped. */
	JAVA_AT_RETURN = 6,
	/* In the interpreter on x86-64, about to pop the return address. */
	JAVA_RETURN_POP = 7,
	/* In the interpreter on x86-64, about to set the stack pointer. */
	JAVA_RETURN_SET_SP = 8,
	/* In the interpreter on x86-64, about to jump to the return address. */
	JAVA_RETURN_JUMP = 9,
};

static __always_inline bool java_is_leaf(const struct unwind_state *state)
{
	return state->registers_known && !(state->frame_flags & FRAME_RETURN_ADDRESS);
}

/* True if the name of the blob that was found last begins with the eight bytes of @beginning. */
static __always_inline bool java_is_named(const struct java_unwind *unwind, __u64 beginning)
{
	__u64 name = 0;

	return !read_word(unwind->blob + unwind->process.blob_name, &name) &&
	       !read_word(name, &name) && name == beginning;
}

/* True for frames whose caller is native code: call_stub, and stubs of foreign functions. */
static __always_inline bool java_is_called_by_native(const struct unwind_state *state,
						     const struct java_unwind *unwind)
{
	__u64 call_stub = unwind->process.call_stub_return - unwind->process.call_stub_before;

	return state->pc == unwind->process.call_stub_return ||
	       state->pc - call_stub < unwind->process.call_stub_bytes ||
	       (unwind->blob && java_is_named(unwind, JAVA_UPCALL_NAME));
}

static __always_inline enum unwind_error java_read_code(struct unwind_state *state, __u64 address,
							struct java_caller *caller)
{
	if (window_read_up(&state->stack, address, &caller->pc))
		return UNWIND_STACK_UNREADABLE;
	caller->pc = code_address(caller->pc);
	return UNWIND_OK;
}

/* Reads the return address from its register, where calls leave it on arm64. */
static __always_inline enum unwind_error java_read_link(const struct unwind_state *state,
							struct java_caller *caller)
{
	if (!java_is_leaf(state))
		return UNWIND_REGISTER_UNKNOWN;
	caller->pc = code_address(state->registers[LINK_REGISTER % REGISTER_COUNT_MAX]);
	return UNWIND_OK;
}

/* Reads the saved frame pointer at @address and the return address above it; the caller's stack follows. */
static __always_inline enum unwind_error java_read_pair(struct unwind_state *state, __u64 address,
							struct java_caller *caller)
{
	caller->fp_known = 1;
	caller->sp = address + 16;
	if (window_read_up(&state->stack, address, &caller->fp))
		return UNWIND_STACK_UNREADABLE;
	return java_read_code(state, address + 8, caller);
}

/* Reads the return address at @address, where a call leaves it; the frame pointer is still the caller's. */
static __always_inline enum unwind_error java_read_return(struct unwind_state *state, __u64 address,
							  struct java_caller *caller)
{
	caller->fp = state->fp;
	caller->fp_known = state->fp_known;
	caller->sp = address + RETURN_ADDRESS_BYTES;
	return RETURN_ADDRESS_BYTES ? java_read_code(state, address, caller) :
				      java_read_link(state, caller);
}

/* Reads a frame by its frame pointer. */
static __always_inline enum unwind_error java_read_frame(struct unwind_state *state,
							 struct java_caller *caller)
{
	if (!state->fp_known)
		return UNWIND_REGISTER_UNKNOWN;
	if (state->fp % 8 || state->fp < state->sp || state->fp - state->sp > JAVA_FRAME_MAX_BYTES)
		return UNWIND_NO_INFO;
	return java_read_pair(state, state->fp, caller);
}

/* Adds a frame for code of no method; user space identifies it by the address. */
static __always_inline enum unwind_error java_push_stub(struct unwind_state *state)
{
	return push_frame(state, frame_word(FRAME_JAVA, state->frame_flags, state->pc),
			  (__u64)JAVA_STUB << 32);
}

/* Reads the frame of @unwind's blob from @sp on. Sets unwind->check to whether its return address is valid. */
static __always_inline enum unwind_error java_try_frame(struct unwind_state *state,
							struct java_unwind *unwind, __u64 sp,
							struct java_caller *caller)
{
	if (java_read_pair(state, sp + unwind->frame_bytes - 16, caller))
		return UNWIND_STACK_UNREADABLE;
	java_check_return(unwind, caller->pc);
	barrier();
	return UNWIND_OK;
}

#endif
