/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * guess_caller(): from a frame without unwind information to its caller by the frame pointer. For
 * code that files say nothing about, JIT code and trampolines.
 *
 * Nothing says that the frame pointer is one, so all that can be checked has to fit: the frame's
 * place on the stack, and a return address in memory that the process executes, in files behind a
 * call. What is found so is flagged FRAME_GUESS all the same. Never used where a file's rows are merely not
 * loaded: they would have said it.
 */
#ifndef EBPF_GUESS_CALLER_BPF_H
#define EBPF_GUESS_CALLER_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/process_mappings.bpf.h"
#include "ebpf/rule_lookup.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Of a frame: more is taken for a register with another use. */
	GUESSED_FRAME_MAX_BYTES = 1 << 20,
};

/* What is taken for the caller. */
struct guessed_caller {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	/* What fp must be above, if it still is the frame pointer of a function like this one. */
	__u64 frame;
};

/* True if a function begins at state->pc, which lies in the mapping that was used last. */
static __always_inline bool is_function_start(struct walk_state *state)
{
	__u32 last = state->last_mapping % MAPPING_CACHE_COUNT;
	const struct unwind_rule *rule;

	return !find_rule(state, &state->mappings[last], state->pc, &rule) && rule->cfa == CFA_SP &&
	       rule->cfa_offset == RETURN_ADDRESS_BYTES;
}

/*
 * What stands at the instruction of a leaf; of a caller it is known that it has made its frame. One
 * to whose first instruction its callee returns has called nobody: state->at_end is set. So it is
 * in the child of a clone().
 */
static __always_inline enum leaf_place find_leaf_place(struct walk_state *state)
{
	__u64 code = 0;

	/* What clone() has not told of yet: 0 is the result of the child, on its own stack. */
	if (state->registers_known && !read_word(state->pc - SYSTEM_CALL_BYTES, &code) &&
	    is_clone_return(code)) {
		state->at_end = !state->registers[RESULT_REGISTER];
		return LEAF_AT_CALL;
	}
	if (read_word(state->pc, &code))
		return LEAF_NOT_IN_MEMORY;
	if (!(state->frame_flags & FRAME_RETURN_ADDRESS))
		return leaf_place(code);
	state->at_end = is_context_start(code);
	return LEAF_ELSEWHERE;
}

/* True if the two words at @frame can be those of this frame. */
static __always_inline bool is_frame_place(const struct walk_state *state, __u64 frame)
{
	return (frame & 7) == 0 && frame - state->sp < GUESSED_FRAME_MAX_BYTES;
}

static __always_inline enum unwind_error read_caller(struct walk_state *state, bool is_at_call,
						     __u64 frame, struct guessed_caller *caller)
{
	enum unwind_error error = UNWIND_OK;
	__u64 return_address = 0;

	caller->frame = frame;
	caller->fp = state->fp;
	if (!is_at_call) {
		if (!is_frame_place(state, frame))
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
 * True if something can have called from in front of @pc, or nobody can tell. Makes its mapping the
 * last used one, which the next step will ask for.
 */
static __always_inline bool is_behind_call(struct walk_state *state, __u64 pc)
{
	__u64 code = 0, executable_id;

	if (find_mapping(state, pc - 1))
		return false;
	executable_id = state->mappings[state->last_mapping % MAPPING_CACHE_COUNT].executable_id;
	/* Interpreters made at run time push addresses at which they go on: HotSpot's. */
	if (executable_id == EXECUTABLE_ID_UPROBES || executable_id == EXECUTABLE_ID_ANONYMOUS)
		return true;
	/* Text that is not in memory now has to be believed. */
	if (read_word(pc - sizeof(code), &code))
		return true;
	check_call(code, &state->check);
	barrier();
	return state->check;
}

/* A function with rows may use the register for whatever it likes; another one keeps frames. */
static __always_inline bool is_caller_fp(struct walk_state *state,
					 const struct guessed_caller *caller)
{
	__u32 last = state->last_mapping % MAPPING_CACHE_COUNT;

	return !caller->fp || caller->fp > caller->frame || state->mappings[last].page_count;
}

/**
 * Takes the step that state->guess_for asks for: sets the state to the caller, or leaves it and
 * returns the error that guess_for holds. @looks_up: may look for rules, which is too much for the
 * verifier of kernels without bpf_loop().
 */
static __always_inline enum unwind_error guess_caller(struct walk_state *state, bool looks_up)
{
	enum unwind_error error = state->guess_for;
	enum leaf_place place = find_leaf_place(state);
	struct guessed_caller caller = {};

	state->guess_for = UNWIND_OK;
	/* Of text that is not in memory nothing has run: no call has put that address there. */
	if (place == LEAF_NOT_IN_MEMORY) {
		state->at_end = looks_up && is_function_start(state);
		return state->at_end ? UNWIND_OK : error;
	}
	barrier();
	if (state->at_end)
		return UNWIND_OK;
	if (place == LEAF_ELSEWHERE && !state->fp_known)
		return error;
	if (read_caller(state, place == LEAF_AT_CALL,
			place == LEAF_FRAME_AT_SP ? state->sp : state->fp, &caller))
		return error;
	if (!is_behind_call(state, caller.pc))
		return error;
	/* At a call the register is still the caller's. */
	if (place != LEAF_AT_CALL && !is_caller_fp(state, &caller))
		return error;
	state->pc = caller.pc;
	state->sp = caller.sp;
	state->fp = caller.fp;
	state->sp_known = FRAME_POINTER_TELLS_SP || place == LEAF_AT_CALL;
	state->frame_flags = FRAME_RETURN_ADDRESS | FRAME_GUESS;
	state->registers_known = 0;
	if (place != LEAF_AT_CALL)
		state->rbx_place = RBX_NOWHERE;
	return UNWIND_OK;
}

#endif
