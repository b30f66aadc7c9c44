/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for HotSpot's frames (java_step.bpf.h); a part is cached between unwinds. */
#ifndef EBPF_JAVA_STATE_BPF_H
#define EBPF_JAVA_STATE_BPF_H

#include "ebpf/abi/java.h"
#include "ebpf/cached_mapping.bpf.h"
#include "ebpf/helpers.bpf.h"

enum {
	JAVA_HEAD_WORDS = JAVA_IDENTITY_MAX_BYTES / 8,
	/** Cache of code and Methods, kept between unwinds: each can be in one of two entries. */
	JAVA_CACHE_SHIFT = 9,
	JAVA_CACHE_COUNT = 1 << JAVA_CACHE_SHIFT,
};

/** Registers of the caller of a frame of Java code. */
struct java_caller {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	/** As unwind_state.rbx_location. */
	__u64 rbx_location;
	__u32 fp_known;
	/** enum frame_flag */
	__u32 flags;
	/** The values come from rows that are not a guess: the caller may be native code. */
	__u32 is_known;
	__u32 reserved;
};

/**
 * A cached address in an nmethod's code, or a cached Method, kept between unwinds. The object may have been replaced by
 * another one: each use checks the process, or its counters.
 */
struct java_cached {
	/** 0 in an unused entry. */
	__u64 process_key;
	__u64 address;
	/** Address of the nmethod, or of the Method's ConstMethod. */
	__u64 object;
	union {
		/** For an nmethod: address of its oop maps. */
		__u64 oop_maps;
		/** For a Method: the word at const_method_code_size of its ConstMethod. */
		__u64 sizes;
	};
	__u32 compile_id;
	__u32 fingerprint;
	/** Offset in the nmethod's code. */
	__u32 position;
	__u32 frame_bytes;
	__s32 frame_complete;
	__u32 original_pc_offset;
	/**
	 * For an nmethod: number of the unwind that checked it last (java_unwind.number); code that an unwind saw on the stack
	 * stays until the unwind ends. For a Method: java_unwind.method_number when it was checked last.
	 */
	__u32 number;
	__u32 reserved;
};

/** Position of an unwind in the frames of HotSpot's code. */
struct java_unwind {
	/** First cell of the struct java_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** Number of this unwind since the agent started; kept between unwinds. */
	__u32 number;
	/** The current frame was interrupted, or has called a stub: it may have pushed more words. */
	__u32 is_checked;
	/** Address and code start of the blob that was found last. */
	__u64 blob;
	__u64 code_start;
	/** Size of the blob's frame in bytes; 0: none. */
	__u32 frame_bytes;
	/** Offset from code_start at which the frame is complete; negative: it never is. */
	__s32 frame_complete;
	/**
	 * Offset from the stack pointer at which a deoptimized frame has its original pc. frame_bytes or more: the current
	 * address is no deopt handler.
	 */
	__u32 original_pc_offset;
	__u32 is_nmethod;
	/** Fingerprint of the nmethod; position of the current frame in it (abi/java.h). */
	__u32 fingerprint;
	__u32 position;
	/** Result of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;
	/** Position of a leaf (enum java_position): not in a local variable either. */
	__u32 leaf_position;
	/** The current frame was the interpreter's, and has just called a method. */
	__u32 has_just_called;
	/** Search for the frame below a virtual thread's: number of words left, address of the next one. */
	__u32 entry_words_left;
	__u64 entry_word;
	struct java_caller caller;
	struct java_process process;
	/** The rows of stubs, and the rule that was found last in them. */
	struct cached_mapping stubs;
	struct unwind_rule stub_rule __attribute__((aligned(8)));
	/** The part of a CodeBlob or of another object that was read last. */
	__u64 head[JAVA_HEAD_WORDS];
	/** Different for each process that ever runs. */
	__u64 process_key;
	/** Number of unloaded classes when the unwind reached the JVM's code; 0 where it is not counted. */
	__u64 unloads;
	/** Changes whenever a Method of the process may have become another one; never 0. */
	__u32 method_number;
	__u32 reserved;
	struct java_cached cached[JAVA_CACHE_COUNT];
};

/** Resets the state for a new sample. */
static __always_inline void java_state_begin(struct java_unwind *unwind)
{
	unwind->cell = 0;
	unwind->is_checked = 1;
	unwind->entry_words_left = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void java_state_forget(struct java_unwind *unwind)
{
	__builtin_memset(unwind->cached, 0, sizeof(unwind->cached));
}

#endif
