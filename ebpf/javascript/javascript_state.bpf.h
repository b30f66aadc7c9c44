/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What a walk keeps of V8's frames (javascript_step.bpf.h), some of it from walk to walk. */
#ifndef EBPF_JAVASCRIPT_STATE_BPF_H
#define EBPF_JAVASCRIPT_STATE_BPF_H

#include "ebpf/abi/javascript.h"
#include "ebpf/helpers.bpf.h"

enum {
	JAVASCRIPT_CODE_WORDS = JAVASCRIPT_CODE_BYTES / 8,
	/** What is known of code and functions, kept between walks; a power of two. */
	JAVASCRIPT_KEPT_COUNT = 256,
	/** Maps of functions that a walk has met; a power of two. */
	JAVASCRIPT_MAPS_COUNT = 4,
};

/** Words of a frame, from its frame pointer. */
enum javascript_slot {
	JAVASCRIPT_SLOT_RETURN = 8,
	/** Or the type of a frame that is not a function's. */
	JAVASCRIPT_SLOT_CONTEXT = -8,
	JAVASCRIPT_SLOT_FUNCTION = -16,
	JAVASCRIPT_SLOT_BYTECODES = -32,
	JAVASCRIPT_SLOT_OFFSET = -40,
	/** In a frame of V8 itself: what it keeps begins here, and goes down. */
	JAVASCRIPT_SLOT_SPILLED = -16,
	/** In an entry from C++: rbx. */
	JAVASCRIPT_SLOT_RBX = -56,
};

/**
 * What was found of an address in code, from walk to walk. It may be gone, and something else in its place: each use
 * of it asks the process.
 */
struct javascript_kept_code {
	/** 0 in an entry that is not used. */
	__u64 process_key;
	__u64 address;
	/** Of the object in the code page. */
	__u64 object;
	/** Of optimized code: its deoptimization data, the number of its compilation, and what they make. */
	__u64 data;
	__u32 optimization;
	__u32 fingerprint;
};

/** The same of a function's SharedFunctionInfo. */
struct javascript_kept_function {
	__u64 process_key;
	__u64 shared;
	/** As javascript_function_fingerprint() has them. */
	__u64 ids;
	__u64 script_id;
	__u32 fingerprint;
	__u32 reserved;
};

/** Where a walk stands in the frames of V8's code. */
struct javascript_walk {
	/** First cell of the struct javascript_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** An answer of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;
	/** word_count behind the last frame of a function, if nothing else has come since. */
	__u32 function_end;
	/** The bytecode of the next interpreted frame is known from registers: its offset, or 0. */
	__u32 bytecode_offset;
	/** Its slot may have an earlier bytecode's offset. */
	__u32 is_before;
	/** The leaf was a builtin's, and rows that may be a guess have told its caller. */
	__u32 is_behind_leaf;
	/** Of the frame at hand. */
	__u32 fingerprint;
	__u32 kind;
	__u64 function;
	__u64 context;
	__u64 shared;
	/** Where its caller goes on. */
	__u64 return_address;
	__u64 caller_sp;
	__u64 caller_fp;
	/** Of code: the object in the code page, its Code, instructions and deoptimization data. */
	__u64 object;
	__u64 code;
	__u64 code_start;
	__u64 code_size;
	__u64 code_data;
	/** Of a search in a map of V8's: what was found. */
	__u64 node_key;
	__u64 node_value;
	/** What was read last of an object. */
	__u64 head[JAVASCRIPT_CODE_WORDS];
	/** Maps that are functions': there are few, and functions of one map mostly call each other. */
	__u64 function_maps[JAVASCRIPT_MAPS_COUNT];
	struct javascript_process process;
	/** No two processes that ever run have the same. */
	__u64 process_key;
	struct javascript_kept_code kept_code[JAVASCRIPT_KEPT_COUNT];
	struct javascript_kept_function kept_functions[JAVASCRIPT_KEPT_COUNT];
};

/** Forgets the last sample. */
static __always_inline void javascript_state_begin(struct javascript_walk *walk)
{
	walk->cell = 0;
	walk->function_end = 0;
	walk->bytecode_offset = 0;
	walk->is_before = 0;
	walk->is_behind_leaf = 0;
	for (int i = 0; i < JAVASCRIPT_MAPS_COUNT; i++)
		walk->function_maps[i] = 0;
}

/** Forgets what is kept from walk to walk. */
static __always_inline void javascript_state_forget(struct javascript_walk *walk)
{
	__builtin_memset(walk->kept_code, 0, sizeof(walk->kept_code));
	__builtin_memset(walk->kept_functions, 0, sizeof(walk->kept_functions));
}

#endif
