/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Frames of WebAssembly's code, which is not on V8's heap: from V8 12.4 on it is in V8's map of code, before that only its frames
 * say what it is. And the slots that all of V8's frames have. Source: wasm/wasm-code-manager.h, execution/frame-constants.h
 * (WasmFrameConstants) @ V8 9.4 to 14.6.
 */
#ifndef EBPF_JAVASCRIPT_WASM_BPF_H
#define EBPF_JAVASCRIPT_WASM_BPF_H

#include "ebpf/javascript/javascript_machine.bpf.h"

enum {
	JAVASCRIPT_FRAME_MAX_BYTES = 8 << 20,
	/* unwind->kind of wasm's code, which is no kind of a Code object. */
	JAVASCRIPT_KIND_WASM = 1 << 16,
};

static __always_inline bool javascript_is_marker(__u64 context, __u64 marker)
{
	return marker && context == marker;
}

/* True for a context, as functions have it, and not a frame's marker. */
static __always_inline bool javascript_is_context(__u64 context)
{
	return context & JAVASCRIPT_TAG;
}

/* Goes to the caller at unwind->return_address, caller_sp and caller_fp. */
static __always_inline enum unwind_error
javascript_go_on(struct unwind_state *state, const struct javascript_unwind *unwind, __u64 sp)
{
	if (unwind->caller_sp <= sp || unwind->caller_sp - sp > JAVASCRIPT_FRAME_MAX_BYTES)
		return UNWIND_NO_PROGRESS;
	state->pc = code_address(unwind->return_address);
	state->sp = unwind->caller_sp;
	state->fp = unwind->caller_fp;
	state->fp_known = 1;
	state->sp_known = 1;
	state->frame_flags = FRAME_RETURN_ADDRESS;
	state->registers_known = 0;
	state->rbx_location = RBX_NOWHERE;
	return UNWIND_OK;
}

/* Reads the slots that all frames have, of the frame with frame pointer @fp: unwind->context, and its caller. */
static __always_inline enum unwind_error javascript_read_frame(struct unwind_state *state, __u64 fp)
{
	struct javascript_unwind *unwind = &state->javascript;

	if (window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_CONTEXT, &unwind->context) ||
	    window_read_up(&state->stack, fp, &unwind->caller_fp) ||
	    window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_RETURN, &unwind->return_address))
		return UNWIND_STACK_UNREADABLE;
	unwind->caller_sp = fp + 16;
	return UNWIND_OK;
}

/*
 * True if @address, in no code that was just found, is in wasm's code: an allocation in V8's map, or its frame says so.
 * unwind->code_start: its beginning, 0: not known.
 */
static __always_inline bool javascript_find_wasm(struct unwind_state *state, __u64 address)
{
	struct javascript_unwind *unwind = &state->javascript;
	bool is_allocated = unwind->process.jit_pages && unwind->object &&
			    address - unwind->object < unwind->node_value;

	unwind->kind = JAVASCRIPT_KIND_WASM;
	unwind->code_start = is_allocated ? unwind->object : 0;
	if (is_allocated)
		return true;
	return state->fp_known && !javascript_read_frame(state, state->fp) &&
	       (javascript_is_marker(unwind->context, unwind->process.marker_wasm) ||
		javascript_is_marker(unwind->context, unwind->process.marker_wasm_to_js));
}

/* Adds the frame of wasm's code; the wrappers around it get none. @instance: address of its slot, 0: it is in its register. */
static __always_inline enum unwind_error javascript_push_wasm(struct unwind_state *state,
							      __u64 instance)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 object = state->registers[JAVASCRIPT_INSTANCE_REGISTER], bytes = 0;
	enum unwind_error error;

	/* A leaf's frame may have no marker yet, or none any more. */
	if (!javascript_is_marker(unwind->context, unwind->process.marker_wasm) &&
	    unwind->context != JAVASCRIPT_TAG)
		return UNWIND_OK;
	/* The memory is below the stack pointer if the frame was popped. */
	if (instance && read_word(instance, &object))
		object = 0;
	if (read_word(state->pc - sizeof(bytes), &bytes))
		bytes = 0;
	barrier();
	error = push_frame(state, frame_word(FRAME_JAVASCRIPT, state->frame_flags, object),
			   javascript_wasm_word(state->pc, bytes));
	barrier();
	return error;
}

#endif
