/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What a walk keeps of HotSpot's frames (java_step.bpf.h), some of it from walk to walk. */
#ifndef EBPF_JAVA_STATE_BPF_H
#define EBPF_JAVA_STATE_BPF_H

#include "ebpf/abi/java.h"
#include "ebpf/cached_mapping.bpf.h"
#include "ebpf/helpers.bpf.h"

enum {
	JAVA_HEAD_WORDS = JAVA_IDENTITY_MAX_BYTES / 8,
	/** What is known of code and Methods, kept between walks: each in one of two entries. */
	JAVA_KEPT_SHIFT = 9,
	JAVA_KEPT_COUNT = 1 << JAVA_KEPT_SHIFT,
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
	/** First cell of the struct java_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** Of the walk that is at hand, since the agent started; from walk to walk. */
	__u32 number;
	/** The frame at hand was interrupted, or has called a stub: it may have pushed more words. */
	__u32 is_checked;
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

/** Forgets the last sample. */
static __always_inline void java_state_begin(struct java_walk *walk)
{
	walk->cell = 0;
	walk->is_checked = 1;
	walk->entry_words_left = 0;
}

/** Forgets what is kept from walk to walk. */
static __always_inline void java_state_forget(struct java_walk *walk)
{
	__builtin_memset(walk->kept, 0, sizeof(walk->kept));
}

#endif
