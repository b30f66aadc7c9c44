/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The state of one walk, from sample_entry through the unwinders to unwind_stop. Each program
 * family has one for each CPU, and a CPU runs one family's programs at most once at a time, so nothing
 * here is shared. Everything but what is kept between walks is set anew for each sample (state_begin()):
 * no walk sees what an earlier one left.
 *
 * What a language NAME (abi/languages.h) keeps is its own: ebpf/NAME/NAME_state.bpf.h has
 *	struct NAME_walk	the member `NAME` of the state
 *	NAME_state_begin()	forgets the last sample
 *	NAME_state_forget()	forgets what is kept from walk to walk, for walks that have no order (ebpf/host)
 */
#ifndef EBPF_STATE_BPF_H
#define EBPF_STATE_BPF_H

#include "build/ebpf/language_states.h"
#include "ebpf/abi/runtime.h"
#include "ebpf/abi/sample.h"
#include "ebpf/abi/slab.h"
#include "ebpf/architecture.bpf.h"
#include "ebpf/cached_mapping.bpf.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Mappings kept during a walk, and rules kept between walks; powers of two. */
	MAPPING_CACHE_COUNT = 8,
	RULE_CACHE_SHIFT = 8,
	RULE_CACHE_COUNT = 1 << RULE_CACHE_SHIFT,
	RECORD_HEADER_WORDS = sizeof(struct trace_record) / 8,
};

/** What a language's step is asked for, and what native steps do until then (languages.bpf.h). */
enum language_wait {
	/** The frames that the held native frame runs; then release_frame(). */
	WAIT_FRAMES = 1,
	/** To step out of the native frame that was added last. */
	WAIT_LEAVE = 2,
	/** The frame at pc, if that is code of the runtime's own, of which no frame is there yet; else decline_code(). */
	WAIT_CODE = 3,
	/** Behind the first frame of a stack: to go on to another one, and clear at_end, if this one began there. */
	WAIT_STACK = 4,
};

/** Values of walk_state.rbx_place that are no addresses. */
enum rbx_place {
	RBX_NOWHERE = 0,
	/** Still in the register: in walk_state.registers. */
	RBX_IN_REGISTER = 1,
};

struct walk_state {
	/** Registers of the frame that the next step leaves. */
	__u64 pc;
	__u64 sp;
	__u64 fp;
	/** All of them by DWARF number; valid if registers_known. */
	__u64 registers[REGISTER_COUNT_MAX];
	/** enum frame_flag of the frame. If pc is a return address, pc - 1 is looked up. */
	__u32 frame_flags;
	/** In the leaf and behind a signal frame. */
	__u32 registers_known;
	__u32 fp_known;
	/** 0 where sp is only known to be at or below the frame's (a guess on arm64). */
	__u32 sp_known;
	/** x86-64: the address where this frame's rbx was saved, or one of enum rbx_place. */
	__u64 rbx_place;
	/** Why the caller of the frame that was added last has to be guessed (enum unwind_error), or 0. */
	__u32 guess_for;
	/** Of a search for the loop that entered JIT code (jit_entry.bpf.h): what is left of it, ... */
	__u32 jit_words_left;
	/** ... the next place on the stack, and the last one with a return address in such code, or 0. */
	__u64 jit_word;
	__u64 jit_return;
	/** Steps to other stacks (RULE_SWITCHES_STACK), to bound them. */
	__u32 stack_switch_count;
	/** An answer of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;

	/** The thread's entry was reached. */
	__u32 at_end;
	/** Why the walk ended before (enum unwind_error). */
	__u32 error;
	/** Runs of a chain of tail calls, to bound it. */
	__u32 run_count;

	struct read_window stack;

	/** The process's mapping table (abi/process.h). */
	__u32 mapping_cell;
	__u32 mapping_count;
	/** An address that it does not have, 0 if there was none: user space will be told. */
	__u64 unknown_address;

	/** Index of the mapping that was used last, and of the one to go next. */
	__u32 last_mapping;
	__u32 next_mapping;
	/** The kernel was asked for a mapping that user space has not heard of (new_code.bpf.h). */
	__u32 asked_for_code;
	/** enum frame_kind of the language that is asked where a stack ends (WAIT_STACK), which it has set, or 0. */
	__u32 stack_language;
	/** Callers that had to be guessed so far in the walk: frames may be missing there. */
	__u32 guess_count;
	__u32 reserved;
	struct cached_mapping mappings[MAPPING_CACHE_COUNT];
	struct cached_rule rules[RULE_CACHE_COUNT];

	/** The process's runtime table (abi/runtime.h), 0: it has none. */
	__u32 runtime_cell;
	/**
	 * enum frame_kind of the language whose step comes next, or 0: native steps come. What it is to do, and the
	 * first cell of its data, which WAIT_LEAVE does not set.
	 */
	__u32 language;
	/** enum language_wait */
	__u32 wait;
	__u32 language_cell;
	/** Of WAIT_CODE: the row of the table that was asked. */
	__u32 asked_row;
	/** Code at declined_pc is none of the runtimes in the first rows of the table: they have said so. */
	__u32 declined_rows;
	__u64 declined_pc;
	/** Why interpreted frames are missing (enum unwind_error), or 0. */
	__u32 interpreter_error;
	/** The held frame, which has been stepped out of: its stack is [held_sp, sp). Its frame pointer; 0: not known. */
	__u64 held_words[2];
	__u64 held_sp;
	__u64 held_fp;
	/** Of WAIT_LEAVE: whose rule it was, its cfa_register and cfa_offset. */
	__u64 left_executable;
	__u32 left_kind;
	__s32 left_offset;
	/** The program's thread pointer; set before the first interpreted frame. */
	__u64 thread_pointer;
#define X(kind, NAME, name, type, frames, files) struct name##_walk name;
	LANGUAGES(X)
#undef X

	/** Kernel addresses: the task's struct uprobe_task (0: no uprobes), and the innermost
	 *  struct return_instance that the walk has not passed yet. */
	__u64 uprobe_task;
	__u64 return_instance;

	/** Where in a kernel stack the user registers lie, the same for all tasks; 0 before it is asked. */
	__u64 saved_registers_offset;

	/** Says how many bytes of the record are to be sent. */
	__u32 record_bytes;
	/** Of the next read of the stack for a first sample. */
	__u32 chunk_bytes;
	/** What goes on the ring. */
	union {
		struct trace_record record;
		struct first_sample first;
		__u64 record_words[RECORD_HEADER_WORDS + TRACE_MAX_WORDS + LABEL_WORDS_MAX];
	};
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct walk_state) % 64 == 0, "no two CPUs write to one cache line");

/** Forgets the last sample. The registers and the record are the caller's to set. */
static __always_inline void state_begin(struct walk_state *state)
{
	state->pc = 0;
	state->at_end = 0;
	state->error = UNWIND_OK;
	state->run_count = 0;
	state->stack_switch_count = 0;
	state->guess_for = UNWIND_OK;
	state->jit_words_left = 0;
	window_clear(&state->stack);
	state->mapping_cell = 0;
	state->mapping_count = 0;
	state->unknown_address = 0;
	state->last_mapping = 0;
	state->next_mapping = 0;
	state->asked_for_code = 0;
	state->guess_count = 0;
	for (int i = 0; i < MAPPING_CACHE_COUNT; i++)
		state->mappings[i].size_bytes = 0;
	state->uprobe_task = 0;
	state->return_instance = 0;
	state->runtime_cell = 0;
	state->language = FRAME_NONE;
	state->stack_language = FRAME_NONE;
	/* Of code at address 0 nobody is asked. */
	state->declined_pc = 0;
	state->declined_rows = RUNTIMES_MAX;
	state->interpreter_error = UNWIND_OK;
#define X(kind, NAME, name, type, frames, files) name##_state_begin(&state->name);
	LANGUAGES(X)
#undef X
}

/** Starts from state->registers, all of which are known: a leaf, or behind a signal frame. */
static __always_inline void state_start_at_registers(struct walk_state *state)
{
	state->pc = state->registers[PC_REGISTER];
	state->sp = state->registers[SP_REGISTER];
	state->fp = state->registers[FP_REGISTER];
	state->fp_known = 1;
	state->sp_known = 1;
	state->registers_known = 1;
	state->rbx_place = RBX_IN_REGISTER;
	state->frame_flags = 0;
}

/**
 * Appends a frame of two words. UNWIND_TRUNCATED without room; room for an error frame always stays.
 */
static __always_inline enum unwind_error push_frame(struct walk_state *state, __u64 first,
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

/** The same of an interpreted frame that has an owner. */
static __always_inline enum unwind_error push_owned_frame(struct walk_state *state, __u64 first,
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

/** The native frame that was added last turns out to be at its exact address. */
static __always_inline void unflag_last_frame(struct walk_state *state)
{
	__u32 index = state->record.word_count;

	if (index < 2 || index > TRACE_MAX_WORDS)
		return;
	state->record_words[RECORD_HEADER_WORDS + index - 2] &=
		~((__u64)FRAME_RETURN_ADDRESS << FRAME_FLAGS_SHIFT);
}

/** Ends the frames with an error frame. */
static __always_inline void push_error(struct walk_state *state, enum unwind_error error)
{
	__u32 index = state->record.word_count;

	if (index > TRACE_MAX_WORDS - 1)
		return;
	state->record_words[RECORD_HEADER_WORDS + index] =
		frame_word(FRAME_ERROR, error, state->pc);
	state->record.word_count = index + 1;
}

#endif
