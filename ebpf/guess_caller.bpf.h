/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * guess_caller(): steps from a frame without unwind information to its caller by the frame pointer. It
 * is for code without rows in its file, JIT code and trampolines.
 *
 * The register may hold something else than a frame pointer, so all that can be checked must fit: the
 * frame's address on the stack, and a return address in executable memory, in files just behind a call.
 * The result is still flagged FRAME_GUESS. It is never used where a file's rows are only not loaded yet.
 */
#ifndef EBPF_GUESS_CALLER_BPF_H
#define EBPF_GUESS_CALLER_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/process_mappings.bpf.h"
#include "ebpf/rule_lookup.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/signal_trampoline.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Limit of a frame's size: if it would be larger, the register is not a frame pointer. */
	GUESSED_FRAME_MAX_BYTES = 1 << 20,
};

/* The possible caller. */
struct guessed_caller {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	/* Lower limit of fp, if fp is the frame pointer of a function like this one. */
	__u64 frame;
};

/* True if a function begins at state->pc, which is in the mapping that was used last. */
static __always_inline bool is_function_start(struct unwind_state *state)
{
	__u32 last = state->last_mapping % MAPPING_CACHE_COUNT;
	const struct unwind_rule *rule;

	/* Rows of a copy of anonymous code count only after a comparison, and this code cannot be read. */
	return state->mappings[last].executable_id != EXECUTABLE_ID_ANONYMOUS &&
	       !find_rule(state, &state->mappings[last], state->pc, &rule) && rule->cfa == CFA_SP &&
	       rule->cfa_offset == RETURN_ADDRESS_BYTES;
}

/*
 * Finds the position of a leaf from its instruction; a caller has always made its frame. Sets
 * state->at_end if there is no caller: in glibc's __start_context, to whose first instruction a
 * function returns without having been called, and in the child of a clone().
 */
static __always_inline enum leaf_position find_leaf_position(struct unwind_state *state)
{
	__u64 code = 0;

	/* Right behind the system call of clone(), the child has the result 0 and its own stack. */
	if (state->registers_known && !read_word(state->pc - SYSTEM_CALL_BYTES, &code) &&
	    is_clone_return(code)) {
		state->at_end = !state->registers[RESULT_REGISTER];
		return LEAF_AT_CALL;
	}
	if (read_word(state->pc, &code))
		return LEAF_NOT_IN_MEMORY;
	if (!(state->frame_flags & FRAME_RETURN_ADDRESS))
		return leaf_position(code);
	state->at_end = is_context_start(code);
	return LEAF_ELSEWHERE;
}

/* True if @frame can be the address of this frame's saved frame pointer and return address. */
static __always_inline bool is_frame_address(const struct unwind_state *state, __u64 frame)
{
	return (frame & 7) == 0 && frame - state->sp < GUESSED_FRAME_MAX_BYTES;
}

static __always_inline enum unwind_error read_caller(struct unwind_state *state, bool is_at_call,
						     __u64 frame, struct guessed_caller *caller)
{
	enum unwind_error error = UNWIND_OK;
	__u64 return_address = 0;

	caller->frame = frame;
	caller->fp = state->fp;
	if (!is_at_call) {
		if (!is_frame_address(state, frame))
			return UNWIND_NO_PROGRESS;
		error = read_word_pair(frame, &caller->fp, &return_address);
		caller->sp = frame + 16;
	} else if (RETURN_ADDRESS_BYTES) {
		error = read_word(state->sp, &return_address);
		caller->sp = state->sp + RETURN_ADDRESS_BYTES;
	} else {
		return_address = state->registers[LINK_REGISTER % REGISTER_COUNT_MAX];
		caller->sp = state->sp;
	}
	caller->pc = code_address(return_address);
	return error;
}

/*
 * True if a call may be in front of @pc, or this cannot be checked. Makes the mapping of @pc the last
 * used one, for the next step.
 */
static __always_inline bool is_behind_call(struct unwind_state *state, __u64 pc)
{
	__u64 code = 0, executable_id;

	if (find_mapping(state, pc - 1))
		return false;
	executable_id = state->mappings[state->last_mapping % MAPPING_CACHE_COUNT].executable_id;
	/* Interpreters generated at run time (HotSpot's) push addresses that do not follow a call. */
	if (executable_id == EXECUTABLE_ID_UPROBES || executable_id == EXECUTABLE_ID_ANONYMOUS)
		return true;
	/* Text that is not in memory now cannot be checked. */
	if (read_word(pc - sizeof(code), &code))
		return true;
	check_call(code, &state->check);
	barrier();
	return state->check;
}

/* True if fp can be the caller's. A function with rows may use the register for anything; others keep frame pointers. */
static __always_inline bool is_caller_fp(struct unwind_state *state,
					 const struct guessed_caller *caller)
{
	__u32 last = state->last_mapping % MAPPING_CACHE_COUNT;

	return !caller->fp || caller->fp > caller->frame ||
	       (state->mappings[last].page_count &&
		state->mappings[last].executable_id != EXECUTABLE_ID_ANONYMOUS);
}

/**
 * Takes the step for which state->guess_for is set: sets the state to the caller, or leaves it and
 * returns the error in guess_for. @looks_up: rules may be looked up, which is too much for the
 * verifier of kernels without bpf_loop().
 */
static __always_inline enum unwind_error guess_caller(struct unwind_state *state, bool looks_up)
{
	enum unwind_error error = state->guess_for;
	struct guessed_caller caller = {};
	enum leaf_position position;

	state->guess_for = UNWIND_OK;
	if (is_at_signal_return(state)) {
		state->guess_count--;
		return restore_interrupted(state);
	}
	position = find_leaf_position(state);
	/* Text that is not in memory has not run, so no call has put that address there. */
	if (position == LEAF_NOT_IN_MEMORY) {
		state->at_end = looks_up && is_function_start(state);
		return state->at_end ? UNWIND_OK : error;
	}
	barrier();
	if (state->at_end)
		return UNWIND_OK;
	if (position == LEAF_ELSEWHERE && !state->fp_known)
		return error;
	if (read_caller(state, position == LEAF_AT_CALL,
			position == LEAF_FRAME_AT_SP ? state->sp : state->fp, &caller))
		return error;
	if (!is_behind_call(state, caller.pc))
		return error;
	/* At a call the register is still the caller's. */
	if (position != LEAF_AT_CALL && !is_caller_fp(state, &caller))
		return error;
	state->pc = caller.pc;
	state->sp = caller.sp;
	state->fp = caller.fp;
	state->sp_known = FRAME_POINTER_TELLS_SP || position == LEAF_AT_CALL;
	state->frame_flags = FRAME_RETURN_ADDRESS | FRAME_GUESS;
	state->registers_known = 0;
	if (position != LEAF_AT_CALL)
		state->rbx_location = RBX_NOWHERE;
	return UNWIND_OK;
}

#endif
