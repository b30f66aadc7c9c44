/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Position of a leaf in HotSpot's code on arm64, recognised by the instructions around it: in its frame, before
 * the frame is made, or after it was popped. Before and after, the return address and the frame pointer are in
 * their registers. Source:
 * cpu/aarch64/{macroAssembler_aarch64,aarch64.ad,c1_MacroAssembler_aarch64,sharedRuntime_aarch64}.* of
 * OpenJDK 8 to 27.
 */
#ifndef EBPF_JAVA_LEAF_ARM64_BPF_H
#define EBPF_JAVA_LEAF_ARM64_BPF_H

#include "ebpf/java/java_instructions_arm64.bpf.h"

enum {
	/* DWARF numbers. */
	JAVA_METHOD_REGISTER = 12,
	JAVA_BCP_REGISTER = 22,
	/* The register in which calls leave the return address. */
	JAVA_RETURN_REGISTER = LINK_REGISTER,
	/* The register with the address at which an exception was thrown. */
	JAVA_EXCEPTION_REGISTER = 3,
	/* The caller's stack pointer at the entry of adapters and of the interpreter: up to 17, and later. */
	JAVA_SENDER_SP_REGISTER_OF_8 = 13,
	JAVA_SENDER_SP_REGISTER = 19,
	JAVA_THREAD_REGISTER = 28,
	/* Limit of the arguments that adapters push. */
	JAVA_ADAPTER_MAX_BYTES = 8192,
	/* The longest prologue has 30 instructions: that with a barrier. */
	JAVA_PROLOGUE_WINDOWS = 2,
	/* At most two instructions store an argument. */
	JAVA_ADAPTER_WINDOWS = 2,
	/* Index of the leaf's instruction in the window that is read around it. */
	JAVA_HERE = 4,
	/* Behind a method's frame up to its return there are five instructions at most. */
	JAVA_END_INSTRUCTIONS = 8,
	/* The interpreter's frame overlaps its caller's, which may have moved its stack pointer further down. */
	JAVA_SENDER_SP_BELOW_BYTES = JAVA_FRAME_MAX_BYTES,
	/* The frame pointer is set after the Method was pushed. */
	JAVA_METHOD_IS_PUSHED_LATE = 0,
};

/*
 * True if a method returns behind instruction @first of the window, and pops nothing before. The jump behind
 * str x8, [x28, #n] is a poll's, and another path continues.
 */
VERIFIED_ONCE bool java_is_at_end(const struct java_unwind *unwind, int first)
{
	__u64 found = 0, stopped = 0, polls = 0;

	if (!unwind)
		return 0;
	first &= 7;
	for (int i = 0; i < JAVA_END_INSTRUCTIONS; i++) {
		__u32 code = java_instruction(unwind, first + i);

		found |= java_is_ret(code) & ~stopped;
		stopped |= java_is_ret(code) | java_loads_pair(code) | java_raises_sp(code) |
			   java_lowers_sp(code) | (java_branches(code) & ~polls) |
			   java_branches_to_register(code);
		polls = java_saves_pc(code);
		barrier_var(stopped);
	}
	return found;
}

/*
 * True in the slow path of a method's poll at its return, which is behind all of its code:
 * adr x8, ADDRESS; str x8, [x28, #n]; b, or a longer jump by x8.
 */
VERIFIED_ONCE bool java_is_behind_poll(const struct java_unwind *unwind)
{
	__u64 found = 0;

	if (!unwind)
		return 0;
	for (int i = JAVA_HERE - 2; i <= JAVA_HERE; i++) {
		__u32 jump = java_instruction(unwind, i + 2);

		found |= java_matches(java_instruction(unwind, i), 0x9f00001f, 0x10000008) &
			 java_saves_pc(java_instruction(unwind, i + 1)) &
			 (java_matches(jump, 0xfc000000, 0x14000000) |
			  java_matches(jump, 0x9f00001f, 0x90000008) |
			  java_matches(jump, 0xff80001f, 0xd2800008));
		barrier_var(found);
	}
	return found;
}

/*
 * True if two instructions just before have popped the frame, without a jump since; and where a native method
 * jumps to the code that throws, behind cbnz x8; ret.
 */
VERIFIED_ONCE bool java_is_behind_frame(const struct java_unwind *unwind)
{
	__u64 found;
	__u32 code;

	if (!unwind)
		return 0;
	code = java_instruction(unwind, JAVA_HERE);
	found = java_matches(java_instruction(unwind, JAVA_HERE - 2), 0xff00001f, 0xb5000008) &
		java_is_ret(java_instruction(unwind, JAVA_HERE - 1)) & java_branches(code);
	for (int i = 0; i < JAVA_HERE - 1; i++) {
		__u32 first = java_instruction(unwind, i), second = java_instruction(unwind, i + 1);
		__u64 ends = (java_loads_pair(first) & java_raises_sp(second)) |
			     (java_raises_sp(first) & java_pops_pair(second));

		for (int j = i + 2; j < JAVA_HERE; j++)
			ends &= ~java_is_ret(java_instruction(unwind, j)) &
				~java_branches(java_instruction(unwind, j)) &
				~java_branches_to_register(java_instruction(unwind, j));
		found |= ends;
		barrier_var(found);
	}
	return found;
}

/*
 * Returns which part of the frame the instructions from @start on make: 1 if its size is set, 2 if only the pair is
 * pushed, @made if neither. With a short prologue the window includes the blob's header, which is ignored.
 */
VERIFIED_ONCE __u64 java_made_by(const struct java_unwind *unwind, __u64 start, __u64 made)
{
	if (!unwind)
		return 0;
	for (int i = 0; i < JAVA_WINDOW_INSTRUCTIONS; i++) {
		__u32 before = java_instruction(unwind, i);
		__u64 is_here = -((unwind->code_start - 1 - (start + 4 * i)) >> 63);
		__u64 lowers = java_lowers_sp(before) & is_here;
		__u64 pushes = java_pushes_pair(before) & is_here;

		made = (made & ~lowers & ~pushes) | (lowers & 1) | (pushes & 2);
		barrier_var(made);
	}
	return made;
}

/* Position before frame_complete: by the part of the frame that has been made before @pc, whose instruction is @code. */
static __always_inline enum java_position java_prologue_position(struct java_unwind *unwind,
								 __u64 pc, __u32 code)
{
	__u64 made = 0;

	for (int i = JAVA_PROLOGUE_WINDOWS; i > 0; i--) {
		__u64 start = pc - i * JAVA_WINDOW_BYTES;

		if (!java_read_instructions(unwind, start))
			return JAVA_AT_CALL;
		made = java_made_by(unwind, start, made);
	}
	if (!made)
		return JAVA_AT_CALL;
	if (made == 2)
		return JAVA_AT_SAVED_FP;
	return java_stores_pair(code) ? JAVA_FP_NOT_SAVED : JAVA_IN_FRAME;
}

/** Returns the position of the leaf at @pc in the compiled method that was found last. */
static __always_inline enum java_position java_leaf_position(struct java_unwind *unwind, __u64 pc)
{
	__u32 code, before, next;

	if (!java_read_instructions(unwind, pc - 4 * JAVA_HERE))
		return JAVA_IN_FRAME;
	before = java_instruction(unwind, JAVA_HERE - 1);
	code = java_instruction(unwind, JAVA_HERE);
	next = java_instruction(unwind, JAVA_HERE + 1);
	/* Both registers are the caller's already. */
	if (java_raises_sp(code) && java_loads_pair(before))
		return JAVA_FP_NOT_SAVED;
	/* Native methods save the pair around calls as well. */
	if (java_pops_pair(code) && (java_raises_sp(before) || java_branches(next) ||
				     java_is_at_end(unwind, JAVA_HERE + 1)))
		return JAVA_AT_SAVED_FP;
	if (java_is_at_end(unwind, JAVA_HERE) || java_is_behind_poll(unwind) ||
	    java_is_behind_frame(unwind))
		return JAVA_AT_CALL;
	if (unwind->frame_complete < 0 || pc - unwind->code_start < (__u32)unwind->frame_complete)
		return java_prologue_position(unwind, pc, code);
	return JAVA_IN_FRAME;
}

/* ldur or stur, at [x29 - 16]: the stack pointer of a method that calls another. */
static __always_inline bool java_takes_last_sp(__u64 code)
{
	return ((__u32)code & 0xffbfffe0) == 0xf81f03a0;
}

/** Returns the position of a leaf in a stub, if @code is one of the stub's first or last instructions. */
static __always_inline enum java_position java_stub_position(__u64 code)
{
	switch ((__u32)code) {
	case 0xa8c17bfd:
	/* mov x29, sp */
	case 0x910003fd:
		return JAVA_AT_SAVED_FP;
	case 0xd65f03c0:
	case 0xa9bf7bfd:
		return JAVA_AT_CALL;
	}
	return JAVA_IN_FRAME;
}

/*
 * Returns the number of bytes that the instructions in the window pop, up to a jump back into the method; 0: there
 * is no jump.
 */
VERIFIED_ONCE __u64 java_popped_bytes(const struct java_unwind *unwind)
{
	__u64 bytes = 0, stopped = 0, jumps = 0;

	if (!unwind)
		return 0;
	for (int i = 0; i < JAVA_WINDOW_INSTRUCTIONS; i++) {
		__u32 code = java_instruction(unwind, i);
		/* ldp of two registers, of 8 bytes, or 16 of vectors, [sp], #n */
		__u64 pops = (java_matches(code, 0xffe003e0, 0xa8c003e0) |
			      java_matches(code, 0xffe003e0, 0x6cc003e0)) &
			     (code >> 15 & 0x3f) * 8;
		__u64 pops_wide = java_matches(code, 0xffe003e0, 0xacc003e0) &
				  (code >> 15 & 0x3f) * 16;

		jumps |= java_matches(code, 0xfc000000, 0x14000000) & ~stopped;
		stopped |= java_loads_pair(code) | java_is_ret(code) | java_branches(code) |
			   java_branches_to_register(code);
		bytes += (pops + pops_wide) & ~stopped;
		barrier_var(stopped);
	}
	return jumps & bytes;
}

/**
 * Returns the stack pointer that a method will restore, if it has saved registers below its frame, or 0. It is found
 * by the pops behind the call, or by add sp, sp, #16 just behind calls of C.
 */
static __always_inline __u64 java_saved_sp(struct unwind_state *state, struct java_unwind *unwind)
{
	__u64 bytes;

	if (java_is_leaf(state) || !java_read_instructions(unwind, state->pc))
		return 0;
	if (java_instruction(unwind, 0) == 0x910043ff)
		return state->sp + 16;
	bytes = java_popped_bytes(unwind);
	return bytes ? state->sp + bytes : 0;
}

/** True where an adapter has its return address in JAVA_RETURN_REGISTER: always. */
static __always_inline bool java_has_popped(__u64 code)
{
	(void)code;
	return true;
}

/* Returns the number of the register to which one of the instructions in the window copies the stack pointer, or 0. */
VERIFIED_ONCE __u64 java_copied_sp(const struct java_unwind *unwind)
{
	__u64 number = 0;

	if (!unwind)
		return 0;
	for (int i = 0; i < JAVA_WINDOW_INSTRUCTIONS; i++) {
		__u32 before = java_instruction(unwind, i);

		number |= java_matches(before, 0xffffffff, 0x910003f3) & JAVA_SENDER_SP_REGISTER;
		number |= java_matches(before, 0xffffffff, 0x910003ed) &
			  JAVA_SENDER_SP_REGISTER_OF_8;
		barrier_var(number);
	}
	return number;
}

/**
 * Returns the stack pointer of an adapter's caller, if that has been copied to its register: mov x19, sp or
 * mov x13, sp before the code that makes room for arguments. 0: it has not.
 */
static __always_inline __u64 java_sender_sp(const struct unwind_state *state,
					    struct java_unwind *unwind)
{
	__u64 number = 0;

	for (int window = 1; window <= JAVA_ADAPTER_WINDOWS; window++) {
		if (!java_read_instructions(unwind, state->pc - window * JAVA_WINDOW_BYTES))
			break;
		number |= java_copied_sp(unwind);
	}
	if (number == JAVA_SENDER_SP_REGISTER)
		return state->registers[JAVA_SENDER_SP_REGISTER];
	return number ? state->registers[JAVA_SENDER_SP_REGISTER_OF_8] : 0;
}

/* As on x86-64; here adapters keep a frame around their call. */
static __always_inline bool java_is_in_fixup(__u64 code)
{
	(void)code;
	return false;
}

static __always_inline __u64 java_fixup_sender_sp(const struct unwind_state *state)
{
	(void)state;
	return 0;
}

#endif
