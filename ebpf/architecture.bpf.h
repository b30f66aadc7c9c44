/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The differences between x86-64 and arm64: DWARF register numbers, the kernel's signal frame, the
 * location of a call's return address, pages with rules of their own.
 */
#ifndef EBPF_ARCHITECTURE_BPF_H
#define EBPF_ARCHITECTURE_BPF_H

#include "ebpf/abi/sample.h"
#include "ebpf/abi/slab.h"
#include "ebpf/safe_reads.bpf.h"

/** Position of a leaf in its function, as far as single instructions show it. */
enum leaf_position {
	LEAF_ELSEWHERE,
	/** Its code cannot be read. */
	LEAF_NOT_IN_MEMORY,
	/** Nothing has been pushed, or all is popped again: the return address is where a call leaves it. */
	LEAF_AT_CALL,
	/** The caller's frame pointer and the return address are the two words at sp. */
	LEAF_FRAME_AT_SP,
};

/* In user space the architecture is the machine's own, unless another one is defined. */
#if !defined(__bpf__) && !defined(__TARGET_ARCH_x86) && !defined(__TARGET_ARCH_arm64)
#if defined(__x86_64__)
#define __TARGET_ARCH_x86
#elif defined(__aarch64__)
#define __TARGET_ARCH_arm64
#endif
#endif

#if defined(__TARGET_ARCH_x86)

enum {
	FP_REGISTER = 6,
	SP_REGISTER = 7,
	PC_REGISTER = 16,
	REGISTER_COUNT = REGISTER_COUNT_X86,
	/** There is none. */
	LINK_REGISTER = REGISTER_COUNT_MAX,
	/** DWARF number of rbx. */
	RBX_REGISTER = 3,
	/** Size of the return address that a call pushes. */
	RETURN_ADDRESS_BYTES = 8,
	/** The caller's sp is the end of the two words at the frame pointer. */
	FRAME_POINTER_TELLS_SP = 1,
	/** Size of the system call instruction. */
	SYSTEM_CALL_BYTES = 2,
	/** `mov $15,%rax; syscall` */
	SIGNAL_RETURN_BYTES = 9,
	/** DWARF number of the register with the result of a system call. */
	RESULT_REGISTER = 0,
	/** pthread_self() is the thread pointer (glibc, musl). */
	THREAD_POINTER_IS_ID = 1,
	/** Chains of tail calls unwind code that runtimes have generated. */
	CHAINS_UNWIND_OWN_CODE = 1,
};

/** Callee-saved registers, a bit for each DWARF number: rbx, rbp, r12 to r15. */
#define CALLEE_SAVED_REGISTERS 0xf048ULL

/** The rule at the first instruction of a called function. */
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

/* The byte @count bytes before the end of @code, eight bytes of code. */
#define BYTE_BEFORE_END(code, count) ((code) >> (64 - 8 * (count)) & 0xff)

/* Length of an indirect call (ff /2) by its ModRM and SIB bytes, the opcode counted in. */
static __always_inline __u32 indirect_call_bytes(__u32 modrm, __u32 sib)
{
	__u32 mode = modrm >> 6, operand = modrm & 7;
	__u32 bytes = 2;

	if (mode != 3 && operand == 4)
		bytes++;
	if (mode == 1)
		return bytes + 1;
	if (mode == 2 || (mode == 0 && (operand == 5 || (operand == 4 && (sib & 7) == 5))))
		return bytes + 4;
	return bytes;
}

/* Sets @answer if @code ends with an indirect call of @bytes bytes. */
static __always_inline void check_indirect_call(__u64 code, __u32 bytes, __u32 *answer)
{
	__u32 modrm = BYTE_BEFORE_END(code, bytes - 1);
	__u32 sib = bytes > 2 ? BYTE_BEFORE_END(code, bytes - 2) : 0;

	if (BYTE_BEFORE_END(code, bytes) == 0xff && (modrm >> 3 & 7) == 2 &&
	    indirect_call_bytes(modrm, sib) == bytes)
		*answer = 1;
}

/**
 * Sets @answer to 1 if @code, the bytes in front of an address, ends with a call: e8 rel32, or ff /2.
 * @answer is in a map, so that the verifier does not follow its values.
 */
static __always_inline void check_call(__u64 code, __u32 *answer)
{
	*answer = BYTE_BEFORE_END(code, 5) == 0xe8;
	check_indirect_call(code, 2, answer);
	check_indirect_call(code, 3, answer);
	check_indirect_call(code, 4, answer);
	check_indirect_call(code, 6, answer);
	check_indirect_call(code, 7, answer);
}

/** Returns the position of a leaf whose code at pc begins with @code. */
static __always_inline enum leaf_position leaf_position(__u64 code)
{
	__u32 start = (__u32)code;

	/* push %rbp; ret; endbr64; in trampolines movabs to r10 or r11, and jumps to these */
	if ((start & 0xff) == 0x55 || (start & 0xff) == 0xc3 || start == 0xfa1e0ff3 ||
	    (start & 0xfeff) == 0xba49 || (start & 0xfefff7) == 0xe2ff41)
		return LEAF_AT_CALL;
	/* mov %rsp,%rbp in its two forms, behind push %rbp */
	if ((start & 0xffffff) == 0xe58948 || (start & 0xffffff) == 0xec8b48)
		return LEAF_FRAME_AT_SP;
	return LEAF_ELSEWHERE;
}

/**
 * True if @code begins glibc's __start_context, to which the function of a makecontext() returns. It is
 * the outermost frame of its stack, which its unwind information does not show. The code is `mov %rbx,%rsp;
 * mov (%rsp),%rdi`; with shadow stacks a test of %fs:72 comes first.
 */
static __always_inline bool is_context_start(__u64 code)
{
	return (code & 0xffffffffffffff) == 0x243c8b48dc8948 || code == 0x000000482504f764;
}

/**
 * True if @code, which begins SYSTEM_CALL_BYTES before a leaf's pc, is `syscall; test %rax,%rax`: glibc's clone
 * and clone3. They have no unwind information from there on, since the child has another stack.
 */
static __always_inline bool is_clone_return(__u64 code)
{
	return (code & 0xffffffffff) == 0xc08548050f;
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
 * Reads the registers of a struct ucontext, which the kernel saves when it delivers a signal
 * (struct rt_sigframe in arch/x86/include/asm/sigframe.h), and which getcontext() fills. Its machine
 * context begins at 40. The handler's return has popped the frame's first word, so sp points to it.
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

#elif defined(__TARGET_ARCH_arm64)

enum {
	FP_REGISTER = 29,
	LINK_REGISTER = 30,
	SP_REGISTER = 31,
	PC_REGISTER = 32,
	REGISTER_COUNT = REGISTER_COUNT_MAX,
	RBX_REGISTER = REGISTER_COUNT_MAX,
	RETURN_ADDRESS_BYTES = 0,
	/** The two words are mostly at the frame's lower end, and its size is not known. */
	FRAME_POINTER_TELLS_SP = 0,
	SYSTEM_CALL_BYTES = 4,
	/** `mov x8, #139; svc #0` */
	SIGNAL_RETURN_BYTES = 8,
	RESULT_REGISTER = 0,
	/** pthread_self() is below the thread pointer, at a distance that depends on the C library. */
	THREAD_POINTER_IS_ID = 0,
	/**
	 * Loops over instructions are separate functions on arm64 (VERIFIED_ONCE). Kernels allow these together
	 * with tail calls only from 6.0 on, which have bpf_loop(). So chains guess the callers.
	 */
	CHAINS_UNWIND_OWN_CODE = 0,
};

/** Callee-saved registers, a bit for each DWARF number: x19 to x29. */
#define CALLEE_SAVED_REGISTERS 0x3ff80000ULL

static const struct unwind_rule rule_at_call = {
	.cfa = CFA_SP,
	.ra = SAVED_SAME,
	.fp = SAVED_SAME,
};

/** Removes the pointer authentication code and the tag in the bits above the address. */
static __always_inline __u64 code_address(__u64 return_address)
{
	return return_address & FRAME_ADDRESS_MASK;
}

static __always_inline bool is_vsyscall(__u64 pc)
{
	(void)pc;
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

/** Sets @answer, which is in a map, to 1 if @code, the bytes in front of an address, ends with a call. */
static __always_inline void check_call(__u64 code, __u32 *answer)
{
	__u32 instruction = code >> 32;

	*answer = 0;
	/* bl; blr and its forms that check a signature */
	if ((instruction & 0xfc000000) == 0x94000000 || (instruction & 0xfefff000) == 0xd63f0000)
		*answer = 1;
}

/** Returns the position of a leaf whose code at pc begins with @code. */
static __always_inline enum leaf_position leaf_position(__u64 code)
{
	__u32 instruction = code;

	/* stp x29, x30, [sp, #-n]!; ret; paciasp; bti c */
	if ((instruction & 0xffc07fff) == 0xa9807bfd || instruction == 0xd65f03c0 ||
	    instruction == 0xd503233f || instruction == 0xd503245f)
		return LEAF_AT_CALL;
	/* mov x29, sp */
	if (instruction == 0x910003fd)
		return LEAF_FRAME_AT_SP;
	return LEAF_ELSEWHERE;
}

/** True if @code, from SYSTEM_CALL_BYTES before a leaf's pc on, is that of a clone: `svc #0; cmp x0, #0`. */
static __always_inline bool is_clone_return(__u64 code)
{
	return code == 0xf100001fd4000001ULL;
}

/** True if @code begins glibc's __startcontext: `mov x0, x19; cbnz x0, ...`. */
static __always_inline bool is_context_start(__u64 code)
{
	return (__u32)code == 0xaa1303e0 && (code >> 32 & 0xff00001f) == 0xb5000000;
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
