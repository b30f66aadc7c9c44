/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Position of a leaf in code that V8 has generated on x86-64, recognised by the instructions around it: in its frame,
 * before the frame is made, or after it was popped. Source: compiler/backend/x64/code-generator-x64.cc
 * (AssembleConstructFrame, AssembleReturn), baseline/x64/baseline-compiler-x64-inl.h (Prologue),
 * maglev/x64/maglev-ir-x64.cc (Return) @ V8 9.4 to 14.6.
 */
#ifndef EBPF_JAVASCRIPT_LEAF_X86_BPF_H
#define EBPF_JAVASCRIPT_LEAF_X86_BPF_H

#include "ebpf/javascript/javascript_code.bpf.h"

enum {
	/* DWARF numbers. */
	JAVASCRIPT_INSTANCE_REGISTER = 4,
	JAVASCRIPT_FUNCTION_REGISTER = 5,
	JAVASCRIPT_OFFSET_REGISTER = 9,
	JAVASCRIPT_BYTECODES_REGISTER = 12,
	JAVASCRIPT_ROOT_REGISTER = 13,
	/* The register with the old address of arguments that are being moved. */
	JAVASCRIPT_MOVED_REGISTER = 8,
	/* Size of the part of a function's prologue that is read. */
	JAVASCRIPT_PROLOGUE_BYTES = 32,
	JAVASCRIPT_PROLOGUE_WORDS = JAVASCRIPT_PROLOGUE_BYTES / 8,
	/* push rbp */
	JAVASCRIPT_PUSH_FP_BYTES = 1,
	/* mov r12, bytecodes */
	JAVASCRIPT_MOV_BYTECODES_BYTES = 10,
	/* call */
	JAVASCRIPT_CALL = 0xe8,
	JAVASCRIPT_CALL_BYTES = 5,
	/* call [r13 + d32] */
	JAVASCRIPT_CALL_TABLE_BYTES = 7,
	/* Size of the part of a builtin that is read, from the interrupted instruction on. */
	JAVASCRIPT_BUILTIN_BYTES = 48,
	JAVASCRIPT_BUILTIN_WORDS = JAVASCRIPT_BUILTIN_BYTES / 8,
	/* Limit of the instructions that push the return address and arguments back. */
	JAVASCRIPT_PUSHES_MAX = 3,
	/* Limit of the instructions that move words in a frame that is left. */
	JAVASCRIPT_MOVES_MAX = 4,
	JAVASCRIPT_BUILTIN_ALIGNMENT = 64,
};

/* push rbp; mov rbp, rsp */
#define JAVASCRIPT_MAKE_FRAME 0xe5894855U
/* The first two bytes of mov r12, i64. */
#define JAVASCRIPT_MOV_BYTECODES 0xbc49U
/* The first two bytes of mov r10, i64. */
#define JAVASCRIPT_MOV_TARGET 0xba49U
/* DWARF numbers of the eight registers without REX, one in four bits. */
#define JAVASCRIPT_REGISTERS 0x54673120U

/* Returns eight bytes of the function's prologue, from byte @at on. */
static __always_inline __u64 javascript_bytes_at(const struct javascript_unwind *unwind, __u32 at)
{
	__u32 shift = 8 * (at % 8), index = at / 8;
	__u64 low, high;

	barrier_var(index);
	low = unwind->head[index % JAVASCRIPT_CODE_WORDS];
	high = unwind->head[(index + 1) % JAVASCRIPT_CODE_WORDS];
	/* It has no branch, since the verifier would follow both paths of each. */
	return low >> shift | high << 1 << (63 - shift);
}

/* Size of Sparkplug's code up to the end of the call that makes its frame, if `mov r12, ...` is at byte @at. */
static __always_inline __u32 javascript_call_end(const struct javascript_unwind *unwind, __u32 at)
{
	__u32 call = at + JAVASCRIPT_MOV_BYTECODES_BYTES;

	return call + ((__u8)javascript_bytes_at(unwind, call) == JAVASCRIPT_CALL ?
			       JAVASCRIPT_CALL_BYTES :
			       JAVASCRIPT_CALL_TABLE_BYTES);
}

/*
 * Size of the part of the code that was found last before its frame is made: up to `push rbp`, or in Sparkplug's code up
 * to the end of the call that makes the frame; JAVASCRIPT_PROLOGUE_BYTES: it has neither.
 */
static __always_inline __u32 javascript_prologue_bytes(struct javascript_unwind *unwind,
						       bool is_baseline)
{
	__u64 words[JAVASCRIPT_PROLOGUE_WORDS];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)unwind->code_start))
		return JAVASCRIPT_PROLOGUE_BYTES;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	for (__u32 i = 0; i <= JAVASCRIPT_PROLOGUE_BYTES - 4; i++) {
		__u64 bytes = javascript_bytes_at(unwind, i);

		if (!is_baseline && (__u32)bytes == JAVASCRIPT_MAKE_FRAME)
			return i;
		if (is_baseline && (__u16)bytes == JAVASCRIPT_MOV_BYTECODES)
			return javascript_call_end(unwind, i);
	}
	return JAVASCRIPT_PROLOGUE_BYTES;
}

/* lea rsp, [rsp + rcx * 8] or [rsp + r8 * 8]; before V8 10.2 with 8 more. */
static __always_inline bool javascript_is_lea(__u64 bytes)
{
	return (bytes & 0xf7bffffd) == 0xc4248d48;
}

/* lea rsp, [rsp + rbx * 8], or with 8 more. */
static __always_inline bool javascript_is_lea_rbx(__u64 bytes)
{
	return (__u32)bytes == 0xdc248d48 || (bytes & 0xffffffffff) == 0x08dc648d48;
}

/* mov rbp, rsp, in one of its two encodings. */
static __always_inline bool javascript_is_move_to_fp(__u64 bytes)
{
	return (bytes & 0xffffff) == 0xe58948 || (bytes & 0xffffff) == 0xec8b48;
}

/* pop r9 or r10 */
static __always_inline bool javascript_is_pop(__u64 bytes)
{
	return (__u16)bytes == 0x5941 || (__u16)bytes == 0x5a41;
}

/* push r9 or r10; ret */
static __always_inline enum javascript_position javascript_push_position(__u64 bytes)
{
	if ((bytes & 0xffffff) == 0xc35141)
		return JAVASCRIPT_RETURN_IN_R9;
	return (bytes & 0xffffff) == 0xc35241 ? JAVASCRIPT_RETURN_IN_R10 : JAVASCRIPT_IN_FRAME;
}

/* ret, or ret i16; or the jump over that, which is 2 or 6 bytes long. */
static __always_inline bool javascript_is_return(__u64 bytes)
{
	return (__u8)bytes == 0xc3 || (__u8)bytes == 0xc2 || (bytes & 0xffffff) == 0xc2037f ||
	       bytes << 8 == 0xc2000000038f0fULL << 8;
}

/**
 * True if the leaf at @pc, in the interpreter and without a frame, has popped its frame: pop rcx; add rsp, rbx, from V8
 * 13.6 on lea rsp, [rsp + rbx * 8]; push rcx; ret. None of these occurs before the frame is made. *@function: address of
 * the function's slot in the frame, which is below the stack pointer @sp then; 0: not known.
 */
static __always_inline bool javascript_is_interpreter_end(__u64 pc, __u64 sp, __u64 *function)
{
	__u64 bytes = 0;

	*function = 0;
	if (read_word(pc, &bytes))
		return true;
	if ((__u8)bytes == 0x59) {
		*function = sp - 8 + JAVASCRIPT_SLOT_FUNCTION;
		return true;
	}
	if ((bytes & 0xffffff) == 0xe30348 || (bytes & 0xffffff) == 0x248d48) {
		*function = sp - 16 + JAVASCRIPT_SLOT_FUNCTION;
		return true;
	}
	return (__u16)bytes == 0xc351 || (__u8)bytes == 0xc3;
}

/* Position behind `pop rbp`, where the code is @bytes and @next: a function with arguments pops these as well. */
static __always_inline enum javascript_position javascript_return_position(__u64 bytes, __u64 next)
{
	/* cmp rcx, i8 or cmp r8, i8 */
	if ((bytes & 0xffffff) == 0xf98348 || (bytes & 0xffffff) == 0xf88349)
		bytes = bytes >> 32 | next << 32;
	if (javascript_is_return(bytes) ||
	    (javascript_is_pop(bytes) && javascript_is_lea(bytes >> 16)))
		return JAVASCRIPT_AT_CALL;
	if (javascript_is_lea(bytes))
		return javascript_push_position(bytes & 0x400000 ? bytes >> 40 : bytes >> 32);
	return javascript_push_position(bytes);
}

/* The code consists of mov r10, i64; jmp r10. It begins with @bytes. */
static __always_inline bool javascript_is_trampoline(__u64 bytes)
{
	return (__u16)bytes == JAVASCRIPT_MOV_TARGET;
}

/** Returns the position of the leaf at @pc in the code that was found last. */
static __always_inline enum javascript_position
javascript_leaf_position(struct javascript_unwind *unwind, __u64 pc, bool is_baseline)
{
	__u32 prologue = javascript_prologue_bytes(unwind, is_baseline);
	__u64 offset = pc - unwind->code_start, bytes = 0, next = 0;

	if (javascript_is_trampoline(unwind->head[0]))
		return JAVASCRIPT_AT_CALL;
	if (prologue < JAVASCRIPT_PROLOGUE_BYTES && is_baseline && offset < prologue)
		return JAVASCRIPT_AT_CALL;
	if (prologue < JAVASCRIPT_PROLOGUE_BYTES && !is_baseline && offset <= prologue)
		return JAVASCRIPT_AT_CALL;
	if (!is_baseline && offset == prologue + JAVASCRIPT_PUSH_FP_BYTES)
		return JAVASCRIPT_AT_SAVED_FP;
	if (read_word_pair(pc, &bytes, &next))
		return JAVASCRIPT_IN_FRAME;
	/* A regular expression's code jumps over parts of it before it makes its frame. */
	if (!offset || (__u32)bytes == JAVASCRIPT_MAKE_FRAME)
		return JAVASCRIPT_AT_CALL;
	if (javascript_is_move_to_fp(bytes))
		return JAVASCRIPT_AT_SAVED_FP;
	return javascript_return_position(bytes, next);
}

/*
 * True if the leaf at @pc is in the prologue of wasm's code from @start on: before it makes its frame, or before Liftoff's
 * code calls the builtin that does so; or in a table of jumps, which has no prologue.
 */
static __always_inline bool javascript_is_before_frame(__u64 start, __u64 pc)
{
	__u64 first = 0;

	if (!start || read_word(start, &first) || (__u32)first == JAVASCRIPT_MAKE_FRAME)
		return false;
	/* mov r12d, i32; call */
	if ((__u16)first == 0xbc41)
		return pc - start < 11;
	/* xor r12d, r12d; call */
	if ((first & 0xffffff) == 0xe43145)
		return pc - start < 8;
	return true;
}

/**
 * Returns the position of the leaf at @pc in wasm's code from @start on, 0: not known. @instance: address of the instance's slot
 * in a frame that was popped; 0: it is in its register, or the frame is there.
 * Source: wasm/baseline/x64/liftoff-assembler-x64-inl.h (CallFrameSetupStub), wasm/jump-table-assembler.h @ V8 9.4 to 14.6.
 */
static __always_inline enum javascript_position javascript_wasm_position(__u64 start, __u64 pc,
									 __u64 sp, __u64 *instance)
{
	enum javascript_position position;
	__u64 bytes = 0, next = 0;

	*instance = 0;
	if (javascript_is_before_frame(start, pc))
		return JAVASCRIPT_AT_CALL;
	if (read_word_pair(pc, &bytes, &next))
		return JAVASCRIPT_IN_FRAME;
	if ((__u32)bytes == JAVASCRIPT_MAKE_FRAME)
		return JAVASCRIPT_AT_CALL;
	if (javascript_is_move_to_fp(bytes))
		return JAVASCRIPT_AT_SAVED_FP;
	position = javascript_return_position(bytes, next);
	if (position == JAVASCRIPT_AT_CALL)
		*instance = sp - 8 + JAVASCRIPT_SLOT_INSTANCE;
	return position;
}

/* pop r15 or r11; push rbp; mov rbp, rsp, in both encodings of the move. */
static __always_inline bool javascript_makes_frame(__u64 bytes)
{
	return (bytes & 0xfbff) == 0x5b41 && (__u8)(bytes >> 16) == 0x55 &&
	       javascript_is_move_to_fp(bytes >> 24);
}

/** Returns the position of the leaf at @pc in the builtin that makes the frame of Sparkplug's code. */
static __always_inline enum javascript_position
javascript_prologue_position(struct javascript_unwind *unwind, __u64 pc)
{
	__u64 words[JAVASCRIPT_BUILTIN_WORDS];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)pc))
		return JAVASCRIPT_IN_FRAME;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	if ((__u8)words[0] == 0x55)
		return JAVASCRIPT_AT_CALL;
	if (javascript_is_move_to_fp(words[0]))
		return JAVASCRIPT_AT_SAVED_FP;
	/* add rsp, 8 */
	if ((__u32)words[0] == 0x08c48348)
		return JAVASCRIPT_BELOW_CALL;
	for (__u32 i = 0; i <= JAVASCRIPT_BUILTIN_BYTES - 8; i++)
		if (javascript_makes_frame(javascript_bytes_at(unwind, i)))
			return JAVASCRIPT_BELOW_CALL;
	return JAVASCRIPT_IN_FRAME;
}

/*
 * Returns the position of the leaf at @pc in the builtin that leaves that frame: pop r8; lea rsp, [rsp + rbx * 8]; push r8;
 * ret. @function: address of the function's slot in the frame, which is below the stack pointer then; 0: not known.
 */
static __always_inline enum javascript_position javascript_leave_position(__u64 pc, __u64 sp,
									  __u64 *function)
{
	__u64 bytes = 0;

	*function = 0;
	if (read_word(pc, &bytes))
		return JAVASCRIPT_IN_FRAME;
	if ((__u8)bytes == 0x5d) {
		*function = sp + JAVASCRIPT_SLOT_FUNCTION;
		return JAVASCRIPT_IN_FRAME;
	}
	if ((__u16)bytes == 0x5841) {
		*function = sp - 8 + JAVASCRIPT_SLOT_FUNCTION;
		return JAVASCRIPT_AT_CALL;
	}
	if (javascript_is_lea_rbx(bytes)) {
		*function = sp - 16 + JAVASCRIPT_SLOT_FUNCTION;
		return JAVASCRIPT_RETURN_IN_R8;
	}
	if ((bytes & 0xffffff) == 0xc35041)
		return JAVASCRIPT_RETURN_IN_R8;
	return (__u8)bytes == 0xc3 ? JAVASCRIPT_AT_CALL : JAVASCRIPT_IN_FRAME;
}

/* Size of an instruction at @bytes that takes arguments from the stack: lea rsp, [...] or add rsp, rbx; 0: it is another one. */
static __always_inline __u32 javascript_drop_bytes(__u64 bytes)
{
	if ((bytes & 0xffffff) == 0xe30348)
		return 3;
	/* Any registers. */
	if ((bytes & 0xfffc) != 0x8d48 && (bytes & 0xfffc) != 0x8d4c)
		return 0;
	switch (bytes >> 16 & 0xff) {
	case 0x24:
		return 4;
	case 0x64:
		return 5;
	case 0x67:
		return 4;
	default:
		return 0;
	}
}

/* Size of a pop of a register at @bytes; 0: it is another instruction. */
static __always_inline __u32 javascript_pop_bytes(__u64 bytes)
{
	if ((bytes & 0xf8) == 0x58)
		return 1;
	return (bytes & 0xf8ff) == 0x5841 ? 2 : 0;
}

/* Size of a push at @bytes, of a register or of a word at r13; 0: it is another instruction. */
static __always_inline __u32 javascript_push_bytes(__u64 bytes)
{
	if ((bytes & 0xf8) == 0x50)
		return 1;
	if ((bytes & 0xf8ff) == 0x5041)
		return 2;
	if ((bytes & 0xffffff) == 0xb5ff41)
		return 7;
	return (bytes & 0xffffff) == 0x75ff41 ? 4 : 0;
}

/* Size of a move at @bytes: between registers, of a constant to eax, or from or to the stack; 0: it is another instruction. */
static __always_inline __u32 javascript_move_bytes(__u64 bytes)
{
	if ((bytes & 0xffc7fdfb) == 0x24448948 || (__u8)bytes == 0xb8)
		return 5;
	return (bytes & 0xc0fdf8) == 0xc08948 ? 3 : 0;
}

/*
 * True if @bytes, at @pc, are a return or a jump to another builtin. All builtins are aligned, which few other targets of
 * jumps are.
 */
static __always_inline bool javascript_is_exit(__u64 bytes, __u64 pc)
{
	__u64 target = pc + 5 + (__u64)(__s64)(__s32)(bytes >> 8);

	return (__u8)bytes == 0xc3 || (__u8)bytes == 0xc2 ||
	       ((__u8)bytes == 0xe9 && !(target % JAVASCRIPT_BUILTIN_ALIGNMENT));
}

/* True if @bytes are jmp r, or what C++'s caller does before it returns: mov rsi, [r13 + d32]. */
static __always_inline bool javascript_is_other_exit(__u64 bytes)
{
	return (bytes & 0xf8ff) == 0xe0ff || (bytes & 0xf8ffff) == 0xe0ff41 ||
	       (bytes & 0xffffff) == 0xa5ff41 || (bytes & 0xffffff) == 0xb58b49;
}

/* The return address of a leaf that moves words in its old frame, drops that, and goes to another builtin; else 0. */
static __always_inline __u64 javascript_moved_return(struct javascript_unwind *unwind, __u64 pc,
						     __u64 sp)
{
	__u64 bytes, address = 0;
	__u32 at;

	unwind->code_at = 0;
	for (int i = 0; i < JAVASCRIPT_MOVES_MAX; i++) {
		unwind->code_at +=
			javascript_move_bytes(javascript_bytes_at(unwind, unwind->code_at));
		barrier();
	}
	at = unwind->code_at;
	bytes = javascript_bytes_at(unwind, at);
	/* add rsp, i8 */
	if ((bytes & 0xffffff) == 0xc48348) {
		sp += bytes >> 24 & 0x7f;
		at += 4;
		bytes = javascript_bytes_at(unwind, at);
		/* jmp r */
		if ((bytes & 0xf8ff) == 0xe0ff || (bytes & 0xf8ffff) == 0xe0ff41)
			return read_word(sp, &address) ? 0 : address;
	} else if (at) {
		return 0;
	}
	if (!javascript_is_exit(bytes, pc + at) || read_word(sp, &address))
		return 0;
	return address;
}

/**
 * Returns the return address of the leaf at @pc in a builtin, if that has left its frame: the leaf has the address in one
 * of @registers and is about to push it back, with arguments or without, and then to return or to jump to another builtin;
 * or it moves the address with the stack pointer @sp. Else 0.
 */
static __always_inline __u64 javascript_exit_address(struct javascript_unwind *unwind,
						     const __u64 *registers, __u64 pc, __u64 sp)
{
	__u64 words[JAVASCRIPT_BUILTIN_WORDS], bytes, found = 0;
	__u32 at, size, number;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)pc))
		return 0;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	at = javascript_pop_bytes(words[0]);
	if (at && javascript_drop_bytes(javascript_bytes_at(unwind, at)))
		return read_word(sp, &found) ? 0 : found;
	at = javascript_drop_bytes(words[0]);
	if (!javascript_push_bytes(javascript_bytes_at(unwind, at)))
		return javascript_moved_return(unwind, pc, sp);
	unwind->code_at = at;
	for (int i = 0; i < JAVASCRIPT_PUSHES_MAX; i++) {
		barrier();
		bytes = javascript_bytes_at(unwind, unwind->code_at);
		size = javascript_push_bytes(bytes);
		if (!size)
			break;
		number = size == 1 ? JAVASCRIPT_REGISTERS >> 4 * (bytes & 7) & 7 :
				     8 + (bytes >> 8 & 7);
		barrier_var(number);
		unwind->return_address = size > 2 ? 0 : registers[number & 15];
		unwind->code_at += size;
	}
	barrier();
	at = unwind->code_at;
	bytes = javascript_bytes_at(unwind, at);
	return javascript_is_exit(bytes, pc + at) || javascript_is_other_exit(bytes) ?
		       unwind->return_address :
		       0;
}

#endif
