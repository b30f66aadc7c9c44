/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Code of HotSpot's interpreter on arm64 in which it has no frame yet, or no more, recognised by the following
 * instructions: the return address is in its register, and the caller's stack pointer in one that they name.
 * Source: cpu/aarch64/{templateInterpreterGenerator_aarch64,interp_masm_aarch64}.* of OpenJDK 8 to 27.
 */
#ifndef EBPF_JAVA_INTERPRETER_ARM64_BPF_H
#define EBPF_JAVA_INTERPRETER_ARM64_BPF_H

#include "ebpf/java/java_leaf_arm64.bpf.h"

enum {
	/* Limit of the instructions between the end of a frame and the return. */
	JAVA_RETURN_INSTRUCTIONS = 5,
	/* There are fewer than 64 instructions from an entry until the frame has been made. */
	JAVA_ENTRY_WINDOWS = 4,
};

/* Events in the following instructions. The first event is one of JAVA_FIRST. */
enum java_ahead {
	/* The frame pointer is set. */
	JAVA_SETS_FP = 1 << 0,
	/* The caller's stack pointer is stored in the frame. */
	JAVA_PUTS_SENDER = 1 << 1,
	/* A return. */
	JAVA_RETURNS = 1 << 2,
	/* Any other jump, or the end of the frame; it may come later as well. */
	JAVA_LEAVES = 1 << 3,
	JAVA_FIRST = JAVA_SETS_FP | JAVA_PUTS_SENDER | JAVA_RETURNS | JAVA_LEAVES,
	/* The return is among the first instructions. */
	JAVA_RETURNS_SOON = 1 << 4,
	/* The stack pointer was set to the caller's: the next jump throws an error, and another path continues. */
	JAVA_THROWS = 1 << 5,
	/* The stack pointer is finally set to x20. */
	JAVA_IS_X20 = 1 << 6,
	/* x20 was set to x9. */
	JAVA_IS_X9 = 1 << 7,
	/* Number of the register with the caller's stack pointer, once it is known. */
	JAVA_SENDER_SHIFT = 8,
	JAVA_SENDER = 31 << JAVA_SENDER_SHIFT,
};

/* All ones if none of @bits is in @seen. */
static __always_inline __u64 java_has_none(__u64 seen, __u64 bits)
{
	return java_is_zero(seen & bits);
}

/*
 * Adds the events of one instruction to @seen; @soon: JAVA_RETURNS_SOON, or 0 further away. The barriers separate
 * the computations, since the compiler would need too much stack otherwise.
 */
static __always_inline __u64 java_look_at(__u64 seen, __u32 code, __u64 soon)
{
	__u64 event, is_first, is_jump, leaves;

	/* stp xzr, x13 or x19, [sp, #n] */
	event = java_matches(code, 0xffc07fff, 0xa90037ff);
	event |= java_matches(code, 0xffc07fff, 0xa9004fff);
	seen |= event & (code >> 10 & 31) << JAVA_SENDER_SHIFT &
		java_has_none(seen, JAVA_SENDER | JAVA_RETURNS | JAVA_LEAVES);
	barrier_var(seen);
	event &= JAVA_PUTS_SENDER;
	/* add x29, sp, #n, not 0 */
	event |= java_matches(code, 0xff8003ff, 0x910003fd) &
		 ~java_matches(code, 0xffffffff, 0x910003fd) & JAVA_SETS_FP;
	event |= java_is_ret(code) & (JAVA_RETURNS | soon);
	barrier_var(event);
	event |= java_sets_sp(code, 1 << 20) & JAVA_IS_X20;
	barrier_var(event);
	/* mov x20, x9 */
	event |= java_matches(code, 0xffffffff, 0xaa0903f4) & JAVA_IS_X9;
	barrier_var(event);
	is_jump = java_branches(code) | java_branches_to_register(code);
	leaves = java_loads_pair(code) | (is_jump & java_has_none(seen, JAVA_THROWS));
	barrier_var(leaves);
	is_first = java_has_none(seen, JAVA_FIRST);
	seen &= ~(is_jump & JAVA_THROWS);
	barrier_var(seen);
	event |= leaves & JAVA_LEAVES;
	/* A later event only ends the search for the register. */
	event = (event & is_first) | ((leaves | java_is_ret(code)) & ~is_first & JAVA_LEAVES);
	barrier_var(event);
	leaves = java_sets_sp(code, 1 << 13 | 1 << 19);
	seen |= leaves & (code >> 5 & 31) << JAVA_SENDER_SHIFT &
		java_has_none(seen, JAVA_SENDER | JAVA_RETURNS | JAVA_LEAVES);
	return seen | event | (leaves & JAVA_THROWS);
}

/* Adds the events of the JAVA_WINDOW_INSTRUCTIONS that were read; a return in the first @near of them is soon. */
VERIFIED_ONCE __u64 java_look_ahead(const struct java_unwind *unwind, __u64 seen, __u32 near)
{
	if (!unwind)
		return 0;
	for (int i = 0; i < JAVA_WINDOW_INSTRUCTIONS; i++) {
		__u64 is_soon = (__u64)i - near;

		seen = java_look_at(seen, java_instruction(unwind, i),
				    -(is_soon >> 63) & JAVA_RETURNS_SOON);
		barrier_var(seen);
	}
	return seen;
}

static __always_inline __u64 java_named_sender(const struct unwind_state *state, __u64 seen)
{
	__u64 number = seen >> JAVA_SENDER_SHIFT & 31;

	if (seen & JAVA_RETURNS && seen & JAVA_IS_X20)
		number = seen & JAVA_IS_X9 ? 9 : 20;
	return number ? state->registers[number] : 0;
}

/** Returns the target of a leaf at br x8; 0 for another instruction, also for those that fill x8. */
static __always_inline __u64 java_jump_target(const struct unwind_state *state)
{
	__u64 code = 0;

	return !read_word(state->pc, &code) && (__u32)code == 0xd61f0100 ? state->registers[8] : 0;
}

/**
 * Fills unwind->caller if a leaf in the interpreter has no frame. Sets *@position to JAVA_AT_ENTRY, JAVA_AT_RETURN or
 * JAVA_IN_FRAME.
 */
static __always_inline enum unwind_error java_read_outside(struct unwind_state *state,
							   struct java_unwind *unwind,
							   enum java_position *position)
{
	struct java_caller *caller = &unwind->caller;
	enum unwind_error error;
	__u64 seen = 0, sender_sp;

	*position = JAVA_IN_FRAME;
	for (int i = 0; i < JAVA_ENTRY_WINDOWS; i++) {
		if (!java_read_instructions(unwind, state->pc + i * JAVA_WINDOW_BYTES))
			return UNWIND_OK;
		seen = java_look_ahead(unwind, seen, i ? 0 : JAVA_RETURN_INSTRUCTIONS);
	}
	if (!(seen & (JAVA_SETS_FP | JAVA_PUTS_SENDER | JAVA_RETURNS)))
		return UNWIND_OK;
	*position = seen & JAVA_RETURNS_SOON ? JAVA_AT_RETURN : JAVA_AT_ENTRY;
	/* If the frame pointer is set already, the frame has the saved pair. */
	error = seen & JAVA_PUTS_SENDER ? java_read_pair(state, state->fp, caller) :
					  java_read_return(state, state->sp, caller);
	sender_sp = java_named_sender(state, seen) & ~15ULL;
	if (sender_sp > caller->sp && sender_sp - caller->sp < JAVA_FRAME_MAX_BYTES)
		caller->sp = sender_sp;
	return error;
}

#endif
