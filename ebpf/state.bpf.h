/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The state of one walk, from sample_entry through the unwinders to unwind_stop. Each program
 * family has one for each CPU, and a CPU runs one family's programs at most once at a time, so nothing
 * here is shared. Everything but what is kept between walks is set anew for each sample (state_begin()):
 * no walk sees what an earlier one left.
 */
#ifndef EBPF_STATE_BPF_H
#define EBPF_STATE_BPF_H

#include "ebpf/abi/go.h"
#include "ebpf/abi/java.h"
#include "ebpf/abi/python.h"
#include "ebpf/abi/sample.h"
#include "ebpf/abi/slab.h"
#include "ebpf/architecture.bpf.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Mappings kept during a walk, and rules kept between walks; powers of two. */
	MAPPING_CACHE_COUNT = 8,
	RULE_CACHE_SHIFT = 8,
	RULE_CACHE_COUNT = 1 << RULE_CACHE_SHIFT,
	RECORD_HEADER_WORDS = sizeof(struct trace_record) / 8,
	/** Of a thread, a power of two. */
	PYTHON_PLACES_MAX = 8,
	/** Fingerprints kept during a walk, a power of two. */
	PYTHON_KNOWN_CODES = 16,
	JAVA_HEAD_WORDS = JAVA_IDENTITY_MAX_BYTES / 8,
	/** What is known of code and Methods, kept between walks: each in one of two entries. */
	JAVA_KEPT_SHIFT = 9,
	JAVA_KEPT_COUNT = 1 << JAVA_KEPT_SHIFT,
};

/** Values of walk_state.rbx_place that are no addresses. */
enum rbx_place {
	RBX_NOWHERE = 0,
	/** Still in the register: in walk_state.registers. */
	RBX_IN_REGISTER = 1,
};

/** A mapping of the process, with what steps need of its executable. */
struct cached_mapping {
	__u64 start;
	/** 0 in an entry that is not used. */
	__u64 size_bytes;
	__u64 bias;
	__u64 executable_id;
	/** Where the first page of text is in the process. */
	__u64 text_start;
	/** 0 if the executable has no rows, or none that are loaded. */
	__u32 page_count;
	__u32 page_index_cell;
	__u32 row_cell;
	__u32 row_count;
	__u32 rule_cell;
	__u32 rule_count;
	/** Of a step from outside the pages (enum unwind_error). */
	__u32 error;
	__u32 reserved;
};

/**
 * The rule that was found for an address of an executable. It stays right from walk to walk: ids are
 * never used again, and the rows of an executable never change. Whether they are published is asked
 * in each walk all the same.
 */
struct cached_rule {
	/** 0 in an entry that is not used. */
	__u64 executable_id;
	__u64 address;
	struct unwind_rule rule __attribute__((aligned(8)));
};

_Static_assert(sizeof(struct cached_rule) == 32, "two entries to a cache line");

_Static_assert((int)PYTHON_READ_MAX_BYTES <= (int)WINDOW_EXACT_BYTES, "frames fit the window");

/** Where a walk stands in the frames of one thread state. */
struct python_chain_place {
	__u64 frame;
	__u64 cframe;
};

/** A code object that a frame of this walk runs, which it keeps alive; address 0: none. */
struct python_known_code {
	__u64 address;
	__u64 fingerprint;
};

/** Where a walk stands in the frames of CPython's functions (python_step.bpf.h). */
struct python_walk {
	/** First cell of the struct python_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The chain is not followed any more in this walk. */
	__u32 is_lost;
	/** The frames of the held native frame are being added. */
	__u32 in_frames;
	/** record.word_count when that began, to go back to with first_frame. */
	__u32 first_word_count;
	__u64 first_frame;
	/** The next frame and cframe, addresses in the process. */
	__u64 frame;
	__u64 cframe;
	/** The first frame that is not of the cframe at hand, and the cframe behind that. */
	__u64 stop_frame;
	__u64 next_cframe;
	/** How far below its caller the next held frame's cframe lies; 0: it is at `cframe`. */
	__u64 cframe_depth;
	/**
	 * The thread's states, one for each interpreter that it runs: the first is its own one. Those that
	 * are not at hand stand where they were left.
	 */
	struct python_chain_place places[PYTHON_PLACES_MAX];
	__u32 place_count;
	/** The one at hand, whose place is above; and how many others have nothing for the held frame. */
	__u32 place;
	__u32 tried;
	/** enum python_search; what is left of its steps; it did not come to its end. */
	__u32 search;
	__u32 search_left;
	__u32 has_more;
	/** The process has other interpreters than the thread's own. */
	__u32 has_others;
	/**
	 * The held frame's part of the stack is looked through for frames (enum python_look): what is left
	 * of it, and a bit for each place whose frame was met.
	 */
	__u32 looking;
	__u32 met;
	__u64 look;
	__u64 look_end;
	/** Where the part of the next held frame begins, and that none was looked through yet. */
	__u64 stack_low;
	__u32 is_first;
	__u32 reserved;
	/** The thread's own state, its id and interpreter; where the search goes on. */
	__u64 thread;
	__u64 thread_id;
	__u64 interpreter;
	__u64 next_interpreter;
	__u64 next_thread;
	struct python_process process;
	/** Frames lie next to each other from 3.11 on, callers at lower addresses. */
	struct read_window frames;
	/** What was read last of a code object. */
	__u64 code[PYTHON_READ_MAX_BYTES / 8];
	/** Of this walk. */
	struct python_known_code known_codes[PYTHON_KNOWN_CODES];
};

/** Where a walk stands in the stacks of Go's runtime (go_step.bpf.h); addresses in the process. */
struct go_walk {
	/** The runtime that all else here is of; 0: none yet. */
	__u64 executable_id;
	/** The goroutine that the scheduler's stack was entered for is not the thread's any more. */
	__u32 is_left;
	/** It goes on where a panic was recovered from. */
	__u32 is_recovering;
	/** 0: not found. */
	__u64 g;
	__u64 m;
	__u64 g0;
	/** The goroutine that the thread runs, 0: none; and its stack. */
	__u64 curg;
	__u64 stack_low;
	__u64 stack_high;
	/** The thread's own stack pointer at the next call from C further out; 0: g0 has it. */
	__u64 callback_sp;
	struct go_process process;
};

/** Where the caller of a frame of Java's code goes on. */
struct java_caller {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	/** As walk_state.rbx_place. */
	__u64 rbx_place;
	__u32 fp_known;
	/** enum frame_flag */
	__u32 flags;
	/** Rows that are believed say so: it may be native code. */
	__u32 is_known;
	__u32 reserved;
};

/**
 * What was found of an address in an nmethod's code, or of a Method, from walk to walk. It may be gone, and
 * something else in its place: each use of it asks the process, or its counters.
 */
struct java_kept {
	/** 0 in an entry that is not used. */
	__u64 process_key;
	__u64 address;
	/** The nmethod, or the Method's ConstMethod. */
	__u64 place;
	union {
		/** Of the nmethod: an address. */
		__u64 oop_maps;
		/** Of the ConstMethod: what is at const_method_code_size. */
		__u64 sizes;
	};
	__u32 compile_id;
	__u32 fingerprint;
	/** From the beginning of the nmethod's code. */
	__u32 position;
	__u32 frame_bytes;
	__s32 frame_complete;
	__u32 original_pc_place;
	/**
	 * Of an nmethod, of the walk that asked last (java_walk.number): what it saw executed stays till its end.
	 * Of a Method the time when it was asked (java_walk.method_number).
	 */
	__u32 number;
	__u32 reserved;
};

/** Where a walk stands in the frames of HotSpot's code (java_step.bpf.h). */
struct java_walk {
	/** `process` has been read. */
	__u32 is_loaded;
	/** Of the walk that is at hand, since the agent started; from walk to walk. */
	__u32 number;
	/** The frame at hand was interrupted, or has called a stub: it may have pushed more words. */
	__u32 is_checked;
	/** Where the walk met code outside of files last that is none of Java's. */
	__u64 other_code;
	/** The blob that was found last: its address, and where its code begins. */
	__u64 blob;
	__u64 code_start;
	/** In bytes; 0: none. */
	__u32 frame_bytes;
	/** From code_start; negative: never. */
	__s32 frame_complete;
	/**
	 * Where in its frame, in bytes from the stack pointer, the JVM has put the place that it was at;
	 * frame_bytes or more: the address at hand is no handler of frames that were given up.
	 */
	__u32 original_pc_place;
	__u32 is_nmethod;
	/** Of an nmethod, and of the frame at hand in it (abi/java.h). */
	__u32 fingerprint;
	__u32 position;
	/** An answer of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;
	/** The same of where a leaf stands (enum java_place). */
	__u32 place;
	/** The frame at hand was the interpreter's, and has just called a method. */
	__u32 has_just_called;
	/** Of a search for the frame below a virtual thread's: what is left of it, and the next place. */
	__u32 entry_words_left;
	__u64 entry_word;
	struct java_caller caller;
	struct java_process process;
	/** Of stubs: the rows, and the last one that was found. */
	struct cached_mapping stubs;
	struct unwind_rule stub_rule __attribute__((aligned(8)));
	/** What was read last of a CodeBlob, or of what else has fields. */
	__u64 head[JAVA_HEAD_WORDS];
	/** No two processes that ever run have the same. */
	__u64 process_key;
	/** Of classes, when the walk came to the JVM's code; 0 where that is not counted. */
	__u64 unloads;
	/** The same as long as no Method of the process can have become another one; never 0. */
	__u32 method_number;
	__u32 reserved;
	struct java_kept kept[JAVA_KEPT_COUNT];
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
	__u32 reserved;
	struct cached_mapping mappings[MAPPING_CACHE_COUNT];
	struct cached_rule rules[RULE_CACHE_COUNT];

	/** The process's interpreter table (abi/interpreter.h), 0: it has none. */
	__u32 interpreter_cell;
	/**
	 * enum frame_kind of the frames to come, which the held native frame runs, and the first cell of
	 * that language's data. 0: native frames come; FRAME_GO: one has to be stepped out of by go_step();
	 * FRAME_JAVA: pc may be Java's code, of which no frame is there yet.
	 */
	__u32 language;
	__u32 language_cell;
	/** Why interpreted frames are missing (enum unwind_error), or 0. */
	__u32 interpreter_error;
	/** The held frame, which has been stepped out of: its stack is [held_sp, sp). */
	__u64 held_words[2];
	__u64 held_sp;
	/** At a CFA_GO_SWITCH, with FRAME_GO as language: whose rule, its enum go_switch and cfa_offset. */
	__u64 switch_executable;
	__u32 switch_kind;
	__s32 switch_offset;
	/** The program's thread pointer; set before the first interpreted frame. */
	__u64 thread_pointer;
	struct python_walk python;
	struct go_walk go;
	struct java_walk java;

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
	for (int i = 0; i < MAPPING_CACHE_COUNT; i++)
		state->mappings[i].size_bytes = 0;
	state->uprobe_task = 0;
	state->return_instance = 0;
	state->interpreter_cell = 0;
	state->language = FRAME_NONE;
	state->interpreter_error = UNWIND_OK;
	state->python.cell = 0;
	state->go.executable_id = 0;
	state->java.is_loaded = 0;
	state->java.is_checked = 1;
	state->java.other_code = 0;
	state->java.entry_words_left = 0;
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
