/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Position of a leaf in HotSpot's code on x86-64, recognised by the instructions around it: in its frame, before
 * the frame is made, or after it was popped. Source:
 * cpu/x86/{macroAssembler_x86,x86_64.ad,c1_MacroAssembler_x86,c1_LIRAssembler_x86,
 * c2_CodeStubs_x86,interp_masm_x86}.* of OpenJDK 8 to 27.
 */
#ifndef EBPF_JAVA_LEAF_X86_BPF_H
#define EBPF_JAVA_LEAF_X86_BPF_H

#include "ebpf/java/java_frame.bpf.h"

enum {
	/* DWARF numbers; a register may have several roles, in different code. */
	JAVA_RETURN_REGISTER = 0,
	JAVA_EXCEPTION_REGISTER = 1,
	JAVA_METHOD_REGISTER = 3,
	JAVA_RETURN_SP_REGISTER = 3,
	JAVA_JUMP_REGISTER = 10,
	JAVA_BCP_REGISTER = 13,
	JAVA_SENDER_SP_REGISTER = 13,
	JAVA_THREAD_REGISTER = 15,
	/* Offset of r13 in the registers that pusha() saves. */
	JAVA_SAVED_R13_BYTES = 16,
	/* mov [r15 + d32], 0 */
	JAVA_MOV_0_BYTES = 11,
	/* pop rax */
	JAVA_POP_RETURN = 0x58,
	/* Limit of the arguments that adapters push. */
	JAVA_ADAPTER_MAX_BYTES = 8192,
	/* Size of the part of a function's prologue that is read. */
	JAVA_PROLOGUE_BYTES = 64,
	/* Size of the code that is read on each side of an instruction of string_indexof(), which has about 400 bytes. */
	JAVA_SEARCH_BYTES = 128,
	/* Limit of the registers saved around a call out of a method's code, vector registers included. */
	JAVA_SAVED_MAX_BYTES = 4096,
	/* Limit of the distance to the saved stack pointer: two strings of 16 bytes, four words, and one for alignment. */
	JAVA_SAVED_SP_MAX_BYTES = 72,
	/* A method handle's linkTo...() has popped its last argument since the caller's was kept. */
	JAVA_SENDER_SP_BELOW_BYTES = 8,
	/* At the beginning of an interpreter's frame the Method is still in a register. */
	JAVA_METHOD_IS_PUSHED_LATE = 1,
};

/* True if the @count lowest bytes of @code and @bytes are equal. */
static __always_inline bool java_begins_with(__u64 code, __u64 bytes, __u32 count)
{
	return count >= 8 ? code == bytes : ((code ^ bytes) & ((1ULL << 8 * count) - 1)) == 0;
}

/* mov rbp, rsp; or the interpreter's push of the caller's stack pointer behind it. */
static __always_inline bool java_is_behind_push_fp(__u64 code)
{
	return java_begins_with(code, 0xec8b48, 3);
}

/*
 * pop r13; mov rsp, rbx; jmp r13, and from 21 on in front of that: cmp rsp, [r15 + d32]; jb +11;
 * mov [r15 + d32], 0; and from 25 on in front of the pop: mov byte [r15 + d32], 0, for JFR. Other code has these
 * instructions as well: *@ahead is the offset at which the pop or the jump must be, 0 if it has been seen.
 */
static __always_inline enum java_position java_return_position(__u64 code, __u32 *ahead)
{
	*ahead = 0;
	if (java_begins_with(code, 0xe38b485d41, 5))
		return JAVA_RETURN_POP;
	if (java_begins_with(code, 0x87c641, 3) && !(code >> 56)) {
		*ahead = 8;
		return JAVA_RETURN_POP;
	}
	if (java_begins_with(code, 0xe5ff41e38b48, 6))
		return JAVA_RETURN_SET_SP;
	if (java_begins_with(code, 0xe5ff41, 3))
		return JAVA_RETURN_JUMP;
	if (java_begins_with(code, 0xa73b49e38b48, 6)) {
		*ahead = 3 + 7 + 2 + JAVA_MOV_0_BYTES;
		return JAVA_RETURN_SET_SP;
	}
	if (java_begins_with(code, 0xa73b49, 3) && code >> 56 == 0x72)
		*ahead = 7 + 2 + JAVA_MOV_0_BYTES;
	else if (java_begins_with(code, 0x87c7490b72, 5))
		*ahead = 2 + JAVA_MOV_0_BYTES;
	else if (java_begins_with(code, 0x87c749, 3))
		*ahead = JAVA_MOV_0_BYTES;
	return *ahead ? JAVA_RETURN_JUMP : JAVA_IN_FRAME;
}

/*
 * Returns the register with the return address, or to which it is popped next, by the code @ahead: jmp r13 or its pop; or
 * mov rax, [r15 + d32] behind a method that an exception has left, if more than the last mov is seen, since other code has these
 * two as well. REGISTER_COUNT_MAX: there is a frame.
 */
static __always_inline __u32 java_popped_register(__u64 code, __u32 ahead)
{
	if (java_begins_with(code, 0xe5ff41, 3) || java_begins_with(code, 0xe38b485d41, 5))
		return JAVA_BCP_REGISTER;
	/* pop rdx; mov rsp, rbx */
	if (java_begins_with(code, 0xe38b485a, 4))
		return JAVA_EXCEPTION_REGISTER;
	if (java_begins_with(code, 0x878b49, 3) && ahead > JAVA_MOV_0_BYTES)
		return JAVA_EXCEPTION_REGISTER;
	return REGISTER_COUNT_MAX;
}

/*
 * True where a call has returned to the interpreter, and all its data is in its frame: mov of 64 bits from or to
 * [rbp + d8], or lea rsp, [rbp + rcx * 8 + d8].
 */
static __always_inline bool java_is_in_frame(__u64 code)
{
	bool is_mov = (code & 0xfdf8) == 0x8948 || (code & 0xfff8) == 0xc748;

	return (is_mov && (code & 0xc70000) == 0x450000) || java_begins_with(code, 0xcd648d48, 4);
}

/* mov of 64 bits from or to [rbp - 16], which has the stack pointer of a method that calls another. */
static __always_inline bool java_takes_last_sp(__u64 code)
{
	return (code & 0xffc7ff00) == 0xf0458b00 || (code & 0xffc7ff00) == 0xf045c700;
}

/* pop rbp, leave, ret, push rbp */
static __always_inline enum java_position java_stub_position(__u64 code)
{
	switch (code & 0xff) {
	case 0x5d:
		return JAVA_AT_SAVED_FP;
	case 0xc9:
		return JAVA_AT_LEAVE;
	case 0xc3:
	case 0x55:
		return JAVA_AT_CALL;
	}
	/* mov rbp, rsp */
	return java_is_behind_push_fp(code) ? JAVA_AT_SAVED_FP : JAVA_IN_FRAME;
}

/* Returns the eight bytes from byte @offset of the @count words on. */
static __always_inline __u64 java_bytes_at(const __u64 *words, int count, int offset)
{
	__u64 bytes = words[offset / 8] >> 8 * (offset % 8);

	if (offset % 8 && offset / 8 + 1 < count)
		bytes |= words[offset / 8 + 1] << (64 - 8 * (offset % 8));
	return bytes;
}

/*
 * The highest bit is clear if the lowest @count bytes, less than 8, of @code and @bytes are equal. Results without
 * a branch, which loops combine with `&`.
 */
static __always_inline __u64 java_differs(__u64 code, __u64 bytes, __u32 count)
{
	__u64 difference = (code ^ bytes) & ((1ULL << 8 * count) - 1);

	return difference | -difference;
}

/*
 * True at a method's poll for a safepoint just before its return, or in the poll's slow path behind the method.
 * @more: the eight bytes behind those of @code. It has no branches, as the loops.
 */
static __always_inline bool java_is_return_poll(__u64 code, __u64 more)
{
	__u64 differs;

	/* cmp rsp, [r15 + d8] or [r15 + d32]; ja, or jb where it may have used the reserved pages */
	differs = java_differs(code, 0x673b49, 3) | java_differs(code >> 32, 0x870f, 2);
	differs &= java_differs(code, 0xa73b49, 3) | java_differs(code >> 56, 0x0f, 1) |
		   (java_differs(more, 0x87, 1) & java_differs(more, 0x82, 1));
	barrier_var(differs);
	/* Any branch; ret */
	differs &= java_differs(code & 0xf0ff, 0x800f, 2) | java_differs(code >> 48, 0xc3, 1);
	/* cmp [r15 + d8], 0; jne; ret: a native method's, which asks for an exception */
	differs &= java_differs(code, 0x7f8349, 3) | java_differs(code >> 40, 0x850f, 2) |
		   java_differs(more >> 24, 0xc3, 1);
	/* This poll with a 0 of 32 bits. */
	differs &= java_differs(code, 0x7f8149, 3) | java_differs(more, 0x850f, 2) |
		   java_differs(more >> 48, 0xc3, 1);
	barrier_var(differs);
	/* test [r15 + d8], 1; je; movabs r10, behind its leave, and the same without the test */
	differs &= java_differs(code, 0x47f641, 3) | java_differs(code >> 32, 0x49167401, 4);
	differs &= java_differs(code, 0xba491674, 4);
	/* mov [r15 + d32], r10; jmp */
	differs &= java_differs(code, 0x97894d, 3) | java_differs(code >> 56, 0xe9, 1);
	barrier_var(differs);
	/* test [rip + d32], eax; ret */
	differs &= java_differs(code, 0x0585, 2) | java_differs(code >> 48, 0xc3, 1);
	/* test [r10], eax; ret, and mov r10, [r15 + d8] or [r15 + d32] in front of it */
	differs &= java_differs(code, 0xc3028541, 4);
	differs &= java_differs(code, 0x578b4d, 3) | java_differs(code >> 32, 0xc3028541, 4);
	differs &= java_differs(code, 0x978b4d, 3) | java_differs(code >> 56, 0x41, 1) |
		   java_differs(more, 0xc30285, 3);
	barrier_var(differs);
	/* lea r10, [rip + d32]; mov [r15 + d], r10, behind the method's end */
	differs &= java_differs(code, 0x158d4c, 3) | java_differs(code >> 56, 0x4d, 1) |
		   java_differs(more, 0x89, 1);
	return !(differs >> 63);
}

/* The highest bit is clear if pcmpestri, or vpcmpestri, is in JAVA_SEARCH_BYTES from @start on. */
static __always_inline __u64 java_lacks_search(__u64 start)
{
	enum { COUNT = JAVA_SEARCH_BYTES / 8 };
	__u64 words[COUNT], differs = -1ULL;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)start))
		return differs;
	for (int i = 0; i < JAVA_SEARCH_BYTES - 4; i++) {
		__u64 code = java_bytes_at(words, COUNT, i);

		differs &= java_differs(code, 0x613a0f66, 4) & java_differs(code, 0x6179e3c4, 4);
		barrier_var(differs);
	}
	return differs;
}

/* True if one is near @pc, so that @pc is in C2's string_indexof(), which consists of them. */
static __always_inline bool java_is_in_search(__u64 pc)
{
	return !((java_lacks_search(pc - JAVA_SEARCH_BYTES + 4) & java_lacks_search(pc)) >> 63);
}

/* Returns the first `add`, `sub` or `and rsp` of 8 or 32 bits in JAVA_SEARCH_BYTES from @start on, or 0. */
static __always_inline __u64 java_first_of_sp(__u64 start)
{
	enum { COUNT = JAVA_SEARCH_BYTES / 8 };
	__u64 words[COUNT], found = 0;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)start))
		return 0;
	for (int i = JAVA_SEARCH_BYTES - 8; i >= 0; i--) {
		__u64 code = java_bytes_at(words, COUNT, i);
		__u64 difference = (code ^ 0xc48148) & 0xd7fdff;
		__u64 mask = ((difference | -difference) >> 63) - 1;

		found = (found & ~mask) | (code & mask);
		barrier_var(found);
	}
	return found;
}

/* True if pow() has pushed a control word at @pc: fldcw [rsp], or pop rax before another x87 instruction. */
static __always_inline bool java_has_pushed_control(__u64 pc)
{
	__u64 code = 0;

	return !read_word(pc, &code) &&
	       (java_begins_with(code, 0x58242cd9, 4) || java_begins_with(code, 0xd958, 2));
}

/*
 * Returns the distance of a method's stack pointer below its frame at @pc in pow() or exp() of JDK 8, which consist
 * of x87 instructions. C2 has one to three words on the stack, C1 one less. The stack pointer shows the compiler,
 * since frames are multiples of 16 bytes. @code is the next `add` or `sub rsp, 8`, and the bytes behind it.
 */
static __always_inline __u64 java_x87_bytes(__u64 sp, __u64 pc, __u64 code)
{
	bool is_odd = sp & 8, is_add = (code >> 16 & 0xff) == 0xc4;

	/* Before fld st(0) it makes room for the result of fistp. */
	if (!is_add && !java_begins_with(code >> 32, 0xc0d9, 2))
		return 0;
	if (!is_odd)
		return 16;
	/* It pops that result before fldcw [rsp]. */
	if (is_add ? java_begins_with(code >> 32, 0x242cd9, 3) : java_has_pushed_control(pc))
		return 24;
	return 8;
}

/*
 * Returns the distance of a method's stack pointer below its frame at a call that returns to @pc. Where barriers of
 * garbage collectors call the JVM, they save all registers there, and restore them behind the call. Behind other calls
 * the frame's own end follows, or the beginning of another frame.
 */
static __always_inline __u64 java_saved_bytes(__u64 sp, __u64 pc)
{
	__u64 code = java_first_of_sp(pc), bytes;
	bool is_short;

	if (!code)
		code = java_first_of_sp(pc + JAVA_SEARCH_BYTES - 8);
	/* add or sub rsp, 8: frames are larger. */
	if ((code & 0xffd7ffff) == 0x08c48348)
		return java_x87_bytes(sp, pc, code);
	is_short = code >> 8 & 2;
	bytes = is_short ? code >> 24 & 0xff : code >> 24 & 0xffffffff;
	/* No `add`, or pop rbp behind it. */
	if (code >> 16 & 0x28 || (is_short ? code >> 32 & 0xff : code >> 56) == 0x5d)
		return 0;
	return bytes <= JAVA_SAVED_MAX_BYTES ? bytes : 0;
}

/* True just behind the end of a frame, add rsp of 8 or 32 bits and pop rbp: C2 then jumps to the code that throws. */
static __always_inline bool java_is_behind_frame(__u64 pc)
{
	__u64 before = 0;

	if (read_word(pc - sizeof(before), &before) || before >> 56 != 0x5d)
		return false;
	return java_begins_with(before >> 24, 0xc48348, 3) || java_begins_with(before, 0xc48148, 3);
}

/* sub rsp, of 8 or 32 bits */
static __always_inline bool java_is_sub_sp(__u64 code)
{
	return java_begins_with(code, 0xec8348, 3) || java_begins_with(code, 0xec8148, 3);
}

/*
 * Position before frame_complete: whether the instructions before @pc have made the frame. With a short prologue
 * the blob's header is read as well, and ignored.
 */
static __always_inline enum java_position java_position_behind(const struct java_unwind *unwind,
							       __u64 pc)
{
	enum { COUNT = JAVA_PROLOGUE_BYTES / 8 };
	__u64 words[COUNT], start = pc - sizeof(words), differs = -1ULL;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)start))
		return JAVA_AT_CALL;
	for (int i = 0; i < JAVA_PROLOGUE_BYTES; i++) {
		__u64 code = java_bytes_at(words, COUNT, i);
		__u64 is_below = start + i - unwind->code_start;

		/* sub rsp, of 8 or 32 bits */
		differs &= is_below |
			   (java_differs(code, 0xec8348, 3) & java_differs(code, 0xec8148, 3));
		barrier_var(differs);
	}
	return differs >> 63 ? JAVA_AT_CALL : JAVA_IN_FRAME;
}

static __always_inline enum java_position java_prologue_position(const struct java_unwind *unwind,
								 __u64 pc, __u64 code)
{
	__u64 before = 0;

	if ((code & 0xff) == 0x55)
		return JAVA_AT_CALL;
	if (read_word(pc - sizeof(before), &before))
		return JAVA_AT_CALL;
	/* push rbp; mov rbp, rsp; sub rsp */
	if (java_is_behind_push_fp(code) && before >> 56 == 0x55)
		return JAVA_AT_SAVED_FP;
	if (java_is_sub_sp(code))
		return before >> 56 == 0x55 || before >> 32 == 0xec8b4855 ? JAVA_AT_SAVED_FP :
									    JAVA_AT_CALL;
	/* sub rsp; mov [rsp + d8] or [rsp + d32], rbp */
	if (java_begins_with(code, 0x246c8948, 4) || java_begins_with(code, 0x24ac8948, 4))
		return JAVA_FP_NOT_SAVED;
	return java_position_behind(unwind, pc);
}

/** Returns the position of the leaf at @pc in the compiled method that was found last. */
static __always_inline enum java_position java_leaf_position(const struct java_unwind *unwind,
							     __u64 pc)
{
	__u64 code = 0, more = 0;

	if (read_word_pair(pc, &code, &more))
		return JAVA_IN_FRAME;
	switch (code & 0xff) {
	case 0x5d:
		return JAVA_AT_SAVED_FP;
	case 0xc3:
	case 0xc2:
		return JAVA_AT_CALL;
	case 0xc9:
		return JAVA_AT_LEAVE;
	case 0xe9:
		if (java_is_behind_frame(pc))
			return JAVA_AT_CALL;
	}
	if (java_is_return_poll(code, more))
		return JAVA_AT_CALL;
	if (unwind->frame_complete < 0 || pc - unwind->code_start < (__u32)unwind->frame_complete)
		return java_prologue_position(unwind, pc, code);
	return JAVA_IN_FRAME;
}

/* Size of the words that C1 has pushed for a stub, and pops behind the call, at @pc: two words at most. */
static __always_inline __u64 java_pushed_bytes(__u64 pc)
{
	__u64 code = 0, bytes = 0;

	if (read_word(pc, &code))
		return 0;
	for (int i = 0; i < 2; i++) {
		code >>= (code & 0xff) == 0x41 ? 8 : 0;
		/* pop, but of neither rsp nor rbp */
		if ((code & 0xf8) != 0x58 || (code & 0xfe) == 0x5c)
			break;
		bytes += 8;
		code >>= 8;
	}
	return bytes;
}

/**
 * Returns the stack pointer that a method will restore, if it has saved registers below its frame, or 0. C2's
 * string_indexof() may copy strings to the stack, and then saves the stack pointer below them. That is checked only
 * for a leaf, and only in frames in which the word at sp is not the saved frame pointer.
 */
static __always_inline __u64 java_saved_sp(struct unwind_state *state,
					   const struct java_unwind *unwind)
{
	__u64 word = java_is_leaf(state) ? 0 : java_pushed_bytes(state->pc);

	if (!word)
		word = java_saved_bytes(state->sp, state->pc);
	if (word)
		return state->sp + word;
	if (!java_is_leaf(state) || unwind->frame_bytes <= 16 ||
	    window_read_up(&state->stack, state->sp, &word))
		return 0;
	if (word % 16 || word <= state->sp || word - state->sp > JAVA_SAVED_SP_MAX_BYTES)
		return 0;
	return java_is_in_search(state->pc) ? word : 0;
}

/** False where an adapter is about to pop its return address. */
static __always_inline bool java_has_popped(__u64 code)
{
	return (code & 0xff) != JAVA_POP_RETURN;
}

/** Returns the stack pointer of an adapter's caller, if that has been copied to its register. */
static __always_inline __u64 java_sender_sp(const struct unwind_state *state,
					    const struct java_unwind *unwind)
{
	(void)unwind;
	return state->registers[JAVA_SENDER_SP_REGISTER];
}

/*
 * True around an adapter's only call, that of SharedRuntime::fixup_callers_callsite(), which patches the call that led
 * to the adapter: fxsave [rsp], vzeroupper, fxrstor [rsp], add rsp, d32.
 */
static __always_inline bool java_is_in_fixup(__u64 code)
{
	return java_begins_with(code & ~0x08000000ULL, 0x04ae0f48, 4) ||
	       java_begins_with(code, 0x77f8c5, 3) || java_begins_with(code, 0xc48148, 3);
}

/*
 * Returns the caller's stack pointer behind that call, or 0. It is one of the registers saved around the call, which
 * are restored by vzeroupper, fxrstor [rsp], add rsp, d32.
 */
static __always_inline __u64 java_fixup_sender_sp(const struct unwind_state *state)
{
	__u64 code = 0, more = 0, sp = 0, address;

	if (read_word_pair(state->pc, &code, &more))
		return 0;
	if (java_begins_with(code, 0x77f8c5, 3)) {
		code = code >> 24 | more << 40;
		more >>= 24;
	}
	if (!java_begins_with(code, 0x8148240cae0f48, 7) || code >> 56 != 0xc4)
		return 0;
	address = state->sp + (__u32)more + JAVA_SAVED_R13_BYTES;
	if (read_word(address, &sp) || sp <= address || sp - address > JAVA_ADAPTER_MAX_BYTES)
		return 0;
	return sp;
}

#endif
