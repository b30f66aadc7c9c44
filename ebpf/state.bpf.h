/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The state of one unwind, from sample_entry through the unwinders to unwind_stop. Each program
 * family has one for each CPU, and a CPU runs one family's programs at most once at a time, so nothing
 * here is shared. state_begin() resets everything for each sample except what is cached between unwinds.
 *
 * The state of a language NAME (abi/languages.h) is in ebpf/NAME/NAME_state.bpf.h:
 *	struct NAME_unwind	the member `NAME` of the state
 *	NAME_state_begin()	resets it for a new sample
 *	NAME_state_forget()	clears what it caches between unwinds, for unwinds without an order (ebpf/host)
 */
#ifndef EBPF_STATE_BPF_H
#define EBPF_STATE_BPF_H

#include "build/ebpf/language_states.h"
#include "ebpf/abi/code_copy.h"
#include "ebpf/abi/runtime.h"
#include "ebpf/abi/sample.h"
#include "ebpf/abi/slab.h"
#include "ebpf/architecture.bpf.h"
#include "ebpf/cached_mapping.bpf.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Mappings cached during an unwind, and rules cached between unwinds; powers of two. */
	MAPPING_CACHE_COUNT = 8,
	RULE_CACHE_SHIFT = 8,
	RULE_CACHE_COUNT = 1 << RULE_CACHE_SHIFT,
	/** Results of comparisons with copies of code, cached during an unwind; a power of two. */
	COMPARED_COUNT = 8,
	/** Limit of the pages that are compared in an unwind. */
	COMPARED_PAGES_MAX = 256,
	RECORD_HEADER_WORDS = sizeof(struct trace_record) / 8,
};

/** The task of a language's next step (languages.bpf.h). */
enum language_wait {
	/** Add the frames that the pending native frame runs; then release_frame(). */
	WAIT_FRAMES = 1,
	/** Step out of the native frame that was added last. */
	WAIT_LEAVE = 2,
	/** Add the frame at pc, for which there is none yet, if pc is in the runtime's own code; else decline_code(). */
	WAIT_CODE = 3,
	/**
	 * At the outermost frame of a stack: if the runtime started it from another stack, go on there and clear at_end. If
	 * stack_language is not set, no step of the language has set it: the stack may not be one of the runtime's.
	 */
	WAIT_STACK = 4,
};

/** Values of unwind_state.rbx_location that are not addresses. */
enum rbx_location {
	RBX_NOWHERE = 0,
	/** The value is in unwind_state.registers. */
	RBX_IN_REGISTER = 1,
};

/** Result of a comparison of code with its copy. */
struct compared_code {
	/** The address of the first page of code, and the number of pages. */
	__u64 key;
	/** The copy's fingerprint; 0: unused. */
	__u32 fingerprint;
	__u32 is_equal;
};

struct unwind_state {
	/** Registers of the frame that the next step leaves. */
	__u64 pc;
	__u64 sp;
	__u64 fp;
	/** All of them by DWARF number; valid if registers_known. */
	__u64 registers[REGISTER_COUNT_MAX];
	/** enum frame_flag of the frame. If pc is a return address, pc - 1 is looked up. */
	__u32 frame_flags;
	/** 1 in the leaf and just above a signal frame. */
	__u32 registers_known;
	__u32 fp_known;
	/** 0 where sp is only known to be at or below the frame's (a guess on arm64). */
	__u32 sp_known;
	/** x86-64: the address at which this frame's rbx was saved, or an enum rbx_location. */
	__u64 rbx_location;
	/** Why the caller of the frame that was added last has to be guessed (enum unwind_error), or 0. */
	__u32 guess_for;
	/** Search for the loop that entered JIT code (jit_entry.bpf.h): number of words left to read. */
	__u32 jit_words_left;
	/** Addresses on the stack: the next word, and the last one with a return address in JIT code, or 0. */
	__u64 jit_word;
	__u64 jit_return;
	/** Number of switches to other stacks (RULE_SWITCHES_STACK), which is limited. */
	__u32 stack_switch_count;
	/** Result of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;

	/** The thread's entry was reached. */
	__u32 at_end;
	/** Why the unwind ended before the thread's entry (enum unwind_error). */
	__u32 error;
	/** Number of runs in a chain of tail calls, which is limited. */
	__u32 run_count;
	/** The thread ends and has no memory any more: `stack` is all there is (exit_stack.bpf.h). */
	__u32 is_exiting;

	struct read_window stack;

	/** The process's mapping table (abi/process.h). */
	__u32 mapping_cell;
	__u32 mapping_count;
	/** An address that is not in the mapping table, which user space gets an event for; 0: none. */
	__u64 unknown_address;

	/** Index in `mappings` of the entry that was used last, and of the next one to be replaced. */
	__u32 last_mapping;
	__u32 next_mapping;
	/** The kernel was asked for a mapping that user space does not know (new_code.bpf.h). */
	__u32 asked_for_code;
	/** enum frame_kind of the language whose step runs where a stack ends (WAIT_STACK), or 0; that language sets it. */
	__u32 stack_language;
	/** The language whose frames were added last has no more of them in this thread, or in this coroutine. */
	__u32 frames_are_used_up;
	/** The frame was stepped to from code that copies stacks (RULE_COPIES_STACKS). */
	__u32 is_above_copied;
	/** Number of guessed callers in the unwind so far: frames may be missing there. */
	__u32 guess_count;
	/** Search for the caller of a regular expression's code (regex_code.bpf.h): number of words left to read. */
	__u32 regex_words_left;
	/**
	 * Comparison of anonymous code with its copy (code_copy.bpf.h): number of pages left to read, and of those that this
	 * unwind may begin to read; the fingerprint of the copy; whether the code of this frame is that of the copy; the next address
	 * to read; the hash so far; the code that is compared, as in struct compared_code. Then the results.
	 */
	__u32 compare_pages_left;
	__u32 compare_budget;
	__u32 compare_fingerprint;
	__u32 code_is_as_copied;
	__u64 compare_address;
	__u64 compare_sum;
	__u64 compare_key;
	struct compared_code compared[COMPARED_COUNT];
	struct cached_mapping mappings[MAPPING_CACHE_COUNT];
	struct cached_rule rules[RULE_CACHE_COUNT];

	/** First cell of the process's runtime table (abi/runtime.h); 0: it has none. */
	__u32 runtime_cell;
	/** enum frame_kind of the language whose step comes next; 0: a native step comes next. */
	__u32 language;
	/** The step's task, enum language_wait. */
	__u32 wait;
	/** First cell of the language's data; WAIT_LEAVE does not set it. */
	__u32 language_cell;
	/** For WAIT_CODE: the row of the runtime table whose language was asked. */
	__u32 asked_row;
	/** The runtimes in this many first rows of the table have declined the code at declined_pc. */
	__u32 declined_rows;
	__u64 declined_pc;
	/** Why interpreted frames are missing (enum unwind_error), or 0. */
	__u32 interpreter_error;
	/**
	 * The pending frame: a native frame that has been stepped out of, but not added yet. Its words; its stack
	 * [pending_sp, sp); its frame pointer, 0: not known.
	 */
	__u64 pending_words[2];
	__u64 pending_sp;
	__u64 pending_fp;
	/** For WAIT_LEAVE: the rule's executable, cfa_register and cfa_offset. */
	__u64 left_executable;
	__u32 left_kind;
	__s32 left_offset;
	/** The program's thread pointer; set before the first interpreted frame. */
	__u64 thread_pointer;
#define X(kind, NAME, name, type, frames, files) struct name##_unwind name;
	LANGUAGES(X)
#undef X

	/** Kernel addresses: the task's struct uprobe_task (0: no uprobes), and the innermost
	 *  struct return_instance that the unwind has not passed yet. */
	__u64 uprobe_task;
	__u64 return_instance;

	/** Offset of the user registers in a kernel stack, the same for all tasks; 0: not computed yet. */
	__u64 saved_registers_offset;

	/** Size of the record, to be sent. */
	__u32 record_bytes;
	/** The copy of the stack for a deferred sample: its limit, how far it is, and the address of its first byte. */
	__u32 copy_bytes;
	__u32 copied_bytes;
	__u64 copy_start;
	/** The record for the ring. */
	union {
		struct trace_record record;
		struct deferred_sample first;
		__u64 record_words[RECORD_HEADER_WORDS + TRACE_MAX_WORDS + LABEL_WORDS_MAX];
	};
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct unwind_state) % 64 == 0, "no two CPUs write to one cache line");

/** Resets the state for a new sample. The caller sets the registers and the record. */
static __always_inline void state_begin(struct unwind_state *state)
{
	state->pc = 0;
	state->at_end = 0;
	state->error = UNWIND_OK;
	state->run_count = 0;
	state->is_exiting = 0;
	state->stack_switch_count = 0;
	state->guess_for = UNWIND_OK;
	state->jit_words_left = 0;
	state->regex_words_left = 0;
	window_clear(&state->stack);
	state->mapping_cell = 0;
	state->mapping_count = 0;
	state->unknown_address = 0;
	state->last_mapping = 0;
	state->next_mapping = 0;
	state->asked_for_code = 0;
	state->guess_count = 0;
	state->compare_pages_left = 0;
	state->compare_budget = COMPARED_PAGES_MAX;
	for (int i = 0; i < COMPARED_COUNT; i++)
		state->compared[i].fingerprint = 0;
	for (int i = 0; i < MAPPING_CACHE_COUNT; i++)
		state->mappings[i].size_bytes = 0;
	state->uprobe_task = 0;
	state->return_instance = 0;
	state->runtime_cell = 0;
	state->language = FRAME_NONE;
	state->stack_language = FRAME_NONE;
	state->frames_are_used_up = 0;
	state->is_above_copied = 0;
	/* No runtime is asked for code at address 0. */
	state->declined_pc = 0;
	state->declined_rows = RUNTIMES_MAX;
	state->interpreter_error = UNWIND_OK;
#define X(kind, NAME, name, type, frames, files) name##_state_begin(&state->name);
	LANGUAGES(X)
#undef X
}

/** Starts from state->registers, all of which are known: in a leaf, or just above a signal frame. */
static __always_inline void state_start_at_registers(struct unwind_state *state)
{
	state->pc = state->registers[PC_REGISTER];
	state->sp = state->registers[SP_REGISTER];
	state->fp = state->registers[FP_REGISTER];
	state->fp_known = 1;
	state->sp_known = 1;
	state->registers_known = 1;
	state->rbx_location = RBX_IN_REGISTER;
	state->frame_flags = 0;
}

/** Goes on with a caller's frame, of whose registers only the stack pointer is known by this. */
static __always_inline void state_go_on(struct unwind_state *state, __u64 pc, __u64 sp,
					__u32 frame_flags)
{
	state->pc = pc;
	state->sp = sp;
	state->sp_known = 1;
	state->registers_known = 0;
	state->frame_flags = frame_flags;
}

/**
 * Appends a frame of two words. UNWIND_TRUNCATED: it does not fit; room for an error frame is always left.
 */
static __always_inline enum unwind_error push_frame(struct unwind_state *state, __u64 first,
						    __u64 second)
{
	__u32 index = state->record.word_count;

	if (index > TRACE_MAX_WORDS - 3)
		return UNWIND_TRUNCATED;
	state->record_words[RECORD_HEADER_WORDS + index] = first;
	state->record_words[RECORD_HEADER_WORDS + index + 1] = second;
	state->record.word_count = index + 2;
	return UNWIND_OK;
}

/** Appends an interpreted frame that has an owner, as push_frame(). */
static __always_inline enum unwind_error push_owned_frame(struct unwind_state *state, __u64 first,
							  __u64 second, __u64 owner)
{
	__u32 index = state->record.word_count;

	if (index > TRACE_MAX_WORDS - 4)
		return UNWIND_TRUNCATED;
	state->record_words[RECORD_HEADER_WORDS + index] = first | (__u64)FRAME_HAS_OWNER
									   << FRAME_FLAGS_SHIFT;
	state->record_words[RECORD_HEADER_WORDS + index + 1] = second;
	state->record_words[RECORD_HEADER_WORDS + index + 2] = owner;
	state->record.word_count = index + 3;
	return UNWIND_OK;
}

/** Clears FRAME_RETURN_ADDRESS of the native frame that was added last: its address turned out to be exact. */
static __always_inline void unflag_last_frame(struct unwind_state *state)
{
	__u32 index = state->record.word_count;

	if (index < 2 || index > TRACE_MAX_WORDS)
		return;
	state->record_words[RECORD_HEADER_WORDS + index - 2] &=
		~((__u64)FRAME_RETURN_ADDRESS << FRAME_FLAGS_SHIFT);
}

/** Appends an error frame, the last one of the trace. */
static __always_inline void push_error(struct unwind_state *state, enum unwind_error error)
{
	__u32 index = state->record.word_count;

	if (index > TRACE_MAX_WORDS - 1)
		return;
	state->record_words[RECORD_HEADER_WORDS + index] =
		frame_word(FRAME_ERROR, error, state->pc);
	state->record.word_count = index + 1;
}

#endif
