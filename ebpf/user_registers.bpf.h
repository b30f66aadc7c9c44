/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The user registers of the current task, wherever it was interrupted: in user mode they are the
 * program's context; in kernel mode the kernel saved them at the end of the task's kernel stack.
 */
#ifndef EBPF_USER_REGISTERS_BPF_H
#define EBPF_USER_REGISTERS_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/kernel_types.bpf.h"
#include "ebpf/maps.bpf.h"
#include "ebpf/state.bpf.h"

#ifdef __TARGET_ARCH_x86

enum {
	/* Words of struct pt_regs. */
	SAVED_CX = 11,
	SAVED_SYSTEM_CALL = 15,
	SAVED_PC = 16,
	SAVED_CODE_SEGMENT = 17,
	SAVED_SP = 19,
	SAVED_WORDS = 21,
	/* In struct rt_sigframe (asm/sigframe.h): the interrupted code's bp, bx, dx, ax, cx, sp and pc. */
	SIGNAL_FRAME_WORDS_OFFSET = 128,
	SIGNAL_FRAME_BP = 0,
	SIGNAL_FRAME_BX = 1,
	SIGNAL_FRAME_SP = 5,
	SIGNAL_FRAME_PC = 6,
	SIGNAL_FRAME_WORDS = 7,
	/* Bits of the code segment: those of user code, and its value for 32-bit user code (asm/segment.h). */
	PRIVILEGE_MASK = 3,
	USER_CODE_32 = 0x23,
};

/* DWARF number of each register in the order of struct pt_regs; 15 is orig_rax. */
#define SAVED_REGISTERS(X)                                                                         \
	X(0, 15)                                                                                   \
	X(1, 14)                                                                                   \
	X(2, 13)                                                                                   \
	X(3, 12)                                                                                   \
	X(4, 6)                                                                                    \
	X(5, 3)                                                                                    \
	X(6, 11)                                                                                   \
	X(7, 10)                                                                                   \
	X(8, 9)                                                                                    \
	X(9, 8)                                                                                    \
	X(10, 0)                                                                                   \
	X(11, 2)                                                                                   \
	X(12, 1)                                                                                   \
	X(13, 4)                                                                                   \
	X(14, 5)                                                                                   \
	X(16, 16)                                                                                  \
	X(19, 7)

static __always_inline bool is_user_mode(__u64 code_segment)
{
	return (code_segment & PRIVILEGE_MASK) == PRIVILEGE_MASK;
}

static __always_inline bool is_32bit_mode(__u64 code_segment)
{
	return (code_segment & 0xffff) == USER_CODE_32;
}

enum { MODE_WORD = SAVED_CODE_SEGMENT };

/*
 * True in a system call that has not changed pc: the `syscall` instruction sets rcx to pc. An exception,
 * or a signal that is being delivered, has set the number to -1 or changed pc.
 */
static __always_inline bool is_system_call(const volatile __u64 *saved)
{
	return (__s64)saved[SAVED_SYSTEM_CALL] >= 0 && saved[SAVED_CX] == saved[SAVED_PC];
}

/*
 * True if the instruction in front of @pc is `syscall`. A return address is safe there, since unwind rows
 * are the same for it and for the instruction behind it. When the kernel returns from a signal it
 * overwrites the other saved registers before pc, so is_system_call() does not suffice.
 */
static __always_inline bool is_behind_system_call(__u64 pc)
{
	__u16 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)(pc - sizeof(code))) &&
	       code == 0x050f;
}

/* True if @frame, a signal handler's, has interrupted the code with @registers; sp is not compared. */
static __always_inline bool interrupts(const __u64 *frame, const __u64 *registers)
{
	return frame[SIGNAL_FRAME_PC] && frame[SIGNAL_FRAME_PC] == registers[PC_REGISTER] &&
	       frame[SIGNAL_FRAME_BP] == registers[FP_REGISTER] &&
	       frame[SIGNAL_FRAME_BX] == registers[RBX_REGISTER];
}

/*
 * While the kernel starts a signal's handler or returns from one, sp is already the new one and pc still the old one for
 * some instructions. Unwound unchanged, such a stack would be wrong without a sign of it. If a handler's frame is at sp,
 * that frame contains the old sp. On the return the frame has been left, and its address is not known any more. The
 * order of sp and pc is the compiler's choice (GCC 15 for 6.18); with kernels that set pc first the stack is not corrected.
 */
static __always_inline enum unwind_error settle_stack_pointer(__u64 *registers)
{
	__u64 pc = registers[PC_REGISTER], sp = registers[SP_REGISTER], trampoline;
	__u64 frame[SIGNAL_FRAME_WORDS];

	if (is_signal_return(pc - SIGNAL_RETURN_BYTES)) {
		/* The first word of a handler's frame is its return address, in the trampoline. */
		if (bpf_probe_read_user(&trampoline, sizeof(trampoline),
					(const void *)(sp - RETURN_ADDRESS_BYTES)) ||
		    trampoline != pc - SIGNAL_RETURN_BYTES)
			return UNWIND_NO_REGISTERS;
		return UNWIND_OK;
	}
	if (!bpf_probe_read_user(frame, sizeof(frame),
				 (const void *)(sp + SIGNAL_FRAME_WORDS_OFFSET)) &&
	    interrupts(frame, registers))
		registers[SP_REGISTER] = frame[SIGNAL_FRAME_SP];
	return UNWIND_OK;
}

#else /* __TARGET_ARCH_arm64 */

enum {
	/* Words of struct user_pt_regs: x0 to x30, sp, pc, pstate. */
	SAVED_SP = 31,
	SAVED_PC = 32,
	MODE_WORD = 33,
	SAVED_WORDS = 34,
	/* Bits of pstate (asm/ptrace.h): exception level 0, 32-bit. */
	EXCEPTION_LEVEL_MASK = 0xf,
	MODE_32BIT = 0x10,
};

#define SAVED_REGISTERS(X)                                                                         \
	X(0, 0)                                                                                    \
	X(1, 1)                                                                                    \
	X(2, 2)                                                                                    \
	X(3, 3)                                                                                    \
	X(4, 4)                                                                                    \
	X(5, 5)                                                                                    \
	X(6, 6)                                                                                    \
	X(7, 7)                                                                                    \
	X(8, 8)                                                                                    \
	X(9, 9)                                                                                    \
	X(10, 10)                                                                                  \
	X(11, 11)                                                                                  \
	X(12, 12)                                                                                  \
	X(13, 13)                                                                                  \
	X(14, 14)                                                                                  \
	X(15, 15)                                                                                  \
	X(16, 16)                                                                                  \
	X(17, 17)                                                                                  \
	X(18, 18)                                                                                  \
	X(19, 19)                                                                                  \
	X(20, 20)                                                                                  \
	X(21, 21)                                                                                  \
	X(22, 22)                                                                                  \
	X(23, 23)                                                                                  \
	X(24, 24)                                                                                  \
	X(25, 25)                                                                                  \
	X(26, 26)                                                                                  \
	X(27, 27)                                                                                  \
	X(28, 28)                                                                                  \
	X(29, 29)                                                                                  \
	X(30, 30)                                                                                  \
	X(31, 31)                                                                                  \
	X(32, 32)

static __always_inline bool is_user_mode(__u64 pstate)
{
	return (pstate & EXCEPTION_LEVEL_MASK) == 0;
}

static __always_inline bool is_32bit_mode(__u64 pstate)
{
	return pstate & MODE_32BIT;
}

/* False: the number of the system call is not among the words that are the same in all kernels. */
static __always_inline bool is_system_call(const volatile __u64 *saved)
{
	return false;
}

static __always_inline bool is_behind_system_call(__u64 pc)
{
	return false;
}

/* Does nothing: the states during a signal have not been measured on arm64. */
static __always_inline enum unwind_error settle_stack_pointer(__u64 *registers)
{
	return UNWIND_OK;
}

#endif

/*
 * Reads a word of the context of a perf event program, which begins with the interrupted registers.
 * It is volatile, since the verifier allows only whole words at fixed offsets. One instruction must
 * never read both the context and other memory, so a barrier() follows reads that could be merged with
 * others.
 */
static __always_inline __u64 context_word(void *ctx, __u32 word)
{
	return ((const volatile __u64 *)ctx)[word];
}

static __always_inline bool context_in_user_mode(void *ctx)
{
	return is_user_mode(context_word(ctx, MODE_WORD));
}

/* Returns the address at which the kernel saved the user registers of @task on entry. */
static __always_inline const void *task_saved_registers(struct task_struct *task)
{
	__u64 stack_end;

	if (config.have_task_pt_regs)
		return (const void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	stack_end = (__u64)BPF_CORE_READ(task, stack) + config.kernel_stack_bytes -
		    config.kernel_stack_padding_bytes;
	return (const void *)(stack_end - bpf_core_type_size(struct pt_regs));
}

/* Since 6.2; the verifier replaces the call by a move. */
extern void *bpf_rdonly_cast(const void *object, __u32 type_id) __ksym __weak;

/*
 * As task_saved_registers(), but the result can be read by loads. A call of a helper is slow, so the
 * offset in the stack is computed once for each CPU and cached in the state, which turns the pointer
 * into a number.
 */
static __always_inline const volatile __u64 *task_registers_to_load(struct task_struct *task,
								    struct unwind_state *state)
{
	volatile __u64 *offset = &state->saved_registers_offset;
	__u64 stack = (__u64)task->stack;

	if (!*offset) {
		*offset = (__u64)bpf_task_pt_regs(task);
		*offset -= stack;
	}
	return bpf_rdonly_cast((const void *)(stack + *offset),
			       bpf_core_type_id_kernel(struct pt_regs));
}

/* Takes the user registers from @saved, SAVED_WORDS words that the kernel has saved; @mode is their mode word. */
static __always_inline enum unwind_error
take_saved_registers(const volatile __u64 *saved, __u64 mode, struct unwind_state *state)
{
	if (!is_user_mode(mode))
		return UNWIND_NO_REGISTERS;
	if (is_system_call(saved) || is_behind_system_call(saved[SAVED_PC]))
		state->record.flags |= RECORD_IN_SYSTEM_CALL;
#define X(word, number) state->registers[number] = saved[word];
	SAVED_REGISTERS(X)
#undef X
	barrier();
	return settle_stack_pointer(state->registers);
}

/**
 * Sets the state to the innermost user frame of @task, the current task. @has_registers: if the CPU was in user mode, the
 * registers of the context are used.
 */
static __always_inline enum unwind_error find_user_registers(void *ctx, struct task_struct *task,
							     struct unwind_state *state,
							     bool has_registers)
{
	__u64 saved[SAVED_WORDS];
	enum unwind_error error = UNWIND_OK;
	__u64 mode;

	if (has_registers && context_in_user_mode(ctx)) {
		mode = context_word(ctx, MODE_WORD);
#define X(word, number) state->registers[number] = context_word(ctx, word);
		SAVED_REGISTERS(X)
#undef X
		barrier();
	} else if (config.have_casts) {
		const volatile __u64 *words = task_registers_to_load(task, state);

		/* Since 6.9 the segment is a field of 16 bits, and a load must not be larger than the field. */
		mode = *(const volatile __u16 *)(words + MODE_WORD);
		error = take_saved_registers(words, mode, state);
	} else {
		if (bpf_probe_read_kernel(saved, sizeof(saved), task_saved_registers(task)))
			return UNWIND_NO_REGISTERS;
		mode = saved[MODE_WORD];
		error = take_saved_registers(saved, mode, state);
	}
	if (error)
		return error;
	if (is_32bit_mode(mode))
		return UNWIND_32BIT;
	state_start_at_registers(state);
	if (state->record.flags & RECORD_IN_SYSTEM_CALL)
		state->frame_flags = FRAME_RETURN_ADDRESS;
	return UNWIND_OK;
}

#endif
