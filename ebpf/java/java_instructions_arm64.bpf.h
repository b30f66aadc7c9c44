/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Recognises the arm64 instructions by which HotSpot's code makes, leaves and pops frames. Results are masks, all
 * ones for yes and 0 for no, since the verifier would follow both paths of each branch in a loop. Source:
 * cpu/aarch64/{macroAssembler_aarch64,templateInterpreterGenerator_aarch64,interp_masm_aarch64}.* of
 * OpenJDK 8 to 27.
 */
#ifndef EBPF_JAVA_INSTRUCTIONS_ARM64_BPF_H
#define EBPF_JAVA_INSTRUCTIONS_ARM64_BPF_H

#include "ebpf/java/java_frame.bpf.h"

enum {
	/* Size of one read of instructions. */
	JAVA_WINDOW_BYTES = 64,
	JAVA_WINDOW_INSTRUCTIONS = JAVA_WINDOW_BYTES / 4,
};

/*
 * Reads the instructions from @start on, for java_instruction(). They replace the blob in unwind->head, which is not
 * needed any more; the BPF stack has no room for them.
 */
static __always_inline bool java_read_instructions(struct java_unwind *unwind, __u64 start)
{
	__u64 words[JAVA_WINDOW_BYTES / 8];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)start))
		return false;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	barrier();
	return true;
}

static __always_inline __u32 java_instruction(const struct java_unwind *unwind, int i)
{
	return unwind->head[i / 2] >> 32 * (i % 2);
}

/* All ones for 0; @number is less than 2^63. The compiler must not know the value, else it would make a branch. */
static __always_inline __u64 java_is_zero(__u64 number)
{
	barrier_var(number);
	return -((number - 1) >> 63);
}

static __always_inline __u64 java_matches(__u32 instruction, __u32 mask, __u32 bits)
{
	return java_is_zero((instruction & mask) ^ bits);
}

static __always_inline __u64 java_is_ret(__u32 instruction)
{
	return java_matches(instruction, 0xffffffff, 0xd65f03c0);
}

/* ldp x29, x30, [sp, ...] in all forms */
static __always_inline __u64 java_loads_pair(__u32 instruction)
{
	return java_matches(instruction, 0xfc407fff, 0xa8407bfd);
}

/* ldp x29, x30, [sp], #16 */
static __always_inline __u64 java_pops_pair(__u32 instruction)
{
	return java_matches(instruction, 0xffffffff, 0xa8c17bfd);
}

/* stp x29, x30, [sp, #n] */
static __always_inline __u64 java_stores_pair(__u32 instruction)
{
	return java_matches(instruction, 0xffc07fff, 0xa9007bfd);
}

/* stp x29, x30, [sp, #-16]! */
static __always_inline __u64 java_pushes_pair(__u32 instruction)
{
	return java_matches(instruction, 0xffffffff, 0xa9bf7bfd);
}

/* sub sp, sp, #n or xN */
static __always_inline __u64 java_lowers_sp(__u32 instruction)
{
	return java_matches(instruction, 0xff8003ff, 0xd10003ff) |
	       java_matches(instruction, 0xffe003ff, 0xcb2003ff);
}

/* add sp, sp, #n or xN */
static __always_inline __u64 java_raises_sp(__u32 instruction)
{
	return java_matches(instruction, 0xff8003ff, 0x910003ff) |
	       java_matches(instruction, 0xffe003ff, 0x8b2003ff);
}

/* and sp, xN, #-16, or mov sp, xN, for the registers that are bits of @numbers. */
static __always_inline __u64 java_sets_sp(__u32 instruction, __u32 numbers)
{
	__u64 is_one = numbers >> (instruction >> 5 & 31) & 1;

	return (java_matches(instruction, 0xfffffc1f, 0x927cec1f) |
		java_matches(instruction, 0xfffffc1f, 0x9100001f)) &
	       -is_one;
}

/* str x8, [x28, #n]: stores the thread's position for the JVM. */
static __always_inline __u64 java_saves_pc(__u32 instruction)
{
	return java_matches(instruction, 0xffc003ff, 0xf9000388);
}

/* b, bl */
static __always_inline __u64 java_branches(__u32 instruction)
{
	return java_matches(instruction, 0x7c000000, 0x14000000);
}

/* br, blr */
static __always_inline __u64 java_branches_to_register(__u32 instruction)
{
	return java_matches(instruction, 0xffdffc1f, 0xd61f0000);
}

#endif
