/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What differs between x86-64 and arm64: DWARF register numbers, the kernel's signal frame, how a
 * call leaves its return address, pages with rules of their own.
 */
#ifndef EBPF_ARCHITECTURE_BPF_H
#define EBPF_ARCHITECTURE_BPF_H

#include "ebpf/abi/sample.h"
#include "ebpf/abi/slab.h"
#include "ebpf/safe_reads.bpf.h"

#if defined(__TARGET_ARCH_x86) || (!defined(__bpf__) && defined(__x86_64__))

enum {
	FP_REGISTER = 6,
	SP_REGISTER = 7,
	PC_REGISTER = 16,
	REGISTER_COUNT = REGISTER_COUNT_X86,
	/** There is none. */
	LINK_REGISTER = REGISTER_COUNT_MAX,
	/** What a call pushes. */
	RETURN_ADDRESS_BYTES = 8,
};

/** On the first instruction behind a call. */
static const struct unwind_rule rule_at_call = {
	.cfa = CFA_SP,
	.cfa_offset = 8,
	.ra = SAVED_AT_CFA,
	.ra_offset = -8,
	.fp = SAVED_SAME,
};

static __always_inline __u64 code_address(__u64 return_address)
{
	return return_address;
}

static __always_inline bool is_vsyscall(__u64 pc)
{
	return pc >> 12 == 0xffffffffff600ULL;
}

/* DWARF number of each register in the order of struct sigcontext_64, from r8 to rip. */
#define SIGNAL_FRAME_REGISTERS(X)                                                                  \
	X(0, 8)                                                                                    \
	X(1, 9)                                                                                    \
	X(2, 10)                                                                                   \
	X(3, 11)                                                                                   \
	X(4, 12)                                                                                   \
	X(5, 13)                                                                                   \
	X(6, 14)                                                                                   \
	X(7, 15)                                                                                   \
	X(8, 5)                                                                                    \
	X(9, 4)                                                                                    \
	X(10, 6)                                                                                   \
	X(11, 3)                                                                                   \
	X(12, 1)                                                                                   \
	X(13, 0)                                                                                   \
	X(14, 2)                                                                                   \
	X(15, 7)                                                                                   \
	X(16, 16)

/*
 * Reads the registers that the kernel saved when it delivered a signal (struct rt_sigframe in
 * arch/x86/include/asm/sigframe.h). The handler's return has popped the frame's first word, so sp
 * points to its struct ucontext, whose machine context begins at 40.
 */
static __always_inline enum unwind_error read_signal_frame(__u64 sp, __u64 *registers)
{
	__u64 saved[REGISTER_COUNT];

	if (bpf_probe_read_user(saved, sizeof(saved), (const void *)(sp + 40)))
		return UNWIND_STACK_UNREADABLE;
#define X(index, number) registers[number] = saved[index];
	SIGNAL_FRAME_REGISTERS(X)
#undef X
	return UNWIND_OK;
}

/**
 * True if the code at @pc is `mov $15,%rax; syscall`, as in every signal trampoline: some libraries
 * have no unwind information for theirs.
 */
static __always_inline bool is_signal_return(__u64 pc)
{
	__u64 code;
	__u8 last;

	if (bpf_probe_read_user(&code, sizeof(code), (const void *)pc) ||
	    code != 0x0f0000000fc0c748ULL)
		return false;
	return !bpf_probe_read_user(&last, sizeof(last), (const void *)(pc + 8)) && last == 0x05;
}

#elif defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))

enum {
	FP_REGISTER = 29,
	LINK_REGISTER = 30,
	SP_REGISTER = 31,
	PC_REGISTER = 32,
	REGISTER_COUNT = REGISTER_COUNT_MAX,
	RETURN_ADDRESS_BYTES = 0,
};

static const struct unwind_rule rule_at_call = {
	.cfa = CFA_SP,
	.ra = SAVED_SAME,
	.fp = SAVED_SAME,
};

/** Without the pointer authentication code and the tag in the bits above the address. */
static __always_inline __u64 code_address(__u64 return_address)
{
	return return_address & FRAME_ADDRESS_MASK;
}

static __always_inline bool is_vsyscall(__u64 pc)
{
	return false;
}

/*
 * Reads the registers that the kernel saved when it delivered a signal (struct rt_sigframe in
 * arch/arm64/kernel/signal.c): a siginfo of 128 bytes, then a struct ucontext whose machine
 * context begins at 176 with the fault address; x0 to x30, sp and pc follow.
 */
static __always_inline enum unwind_error read_signal_frame(__u64 sp, __u64 *registers)
{
	__u64 saved[REGISTER_COUNT];

	if (bpf_probe_read_user(saved, sizeof(saved), (const void *)(sp + 128 + 176 + 8)))
		return UNWIND_STACK_UNREADABLE;
	for (int i = 0; i < REGISTER_COUNT; i++)
		registers[i] = saved[i];
	return UNWIND_OK;
}

/** True if the code at @pc is `mov x8, #139; svc #0`, as in every signal trampoline. */
static __always_inline bool is_signal_return(__u64 pc)
{
	__u64 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)pc) &&
	       code == 0xd4000001d2801168ULL;
}

#else
#error "an architecture without an unwinder"
#endif

#endif
