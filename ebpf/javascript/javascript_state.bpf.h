/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for V8's frames (javascript_step.bpf.h); a part is cached between unwinds. */
#ifndef EBPF_JAVASCRIPT_STATE_BPF_H
#define EBPF_JAVASCRIPT_STATE_BPF_H

#include "ebpf/abi/javascript.h"
#include "ebpf/helpers.bpf.h"

enum {
	JAVASCRIPT_CODE_WORDS = JAVASCRIPT_CODE_BYTES / 8,
	/** Entries of the caches of code and of functions, kept between unwinds; a power of two. */
	JAVASCRIPT_CACHE_COUNT = 256,
	/** Cached maps of functions, kept during an unwind; a power of two. */
	JAVASCRIPT_MAPS_COUNT = 4,
};

/** Slots of a frame, as offsets from its frame pointer. */
enum javascript_slot {
	JAVASCRIPT_SLOT_RETURN = 8,
	/** The context, or the marker of a frame that is not a function's. */
	JAVASCRIPT_SLOT_CONTEXT = -8,
	JAVASCRIPT_SLOT_FUNCTION = -16,
	JAVASCRIPT_SLOT_BYTECODES = -32,
	JAVASCRIPT_SLOT_OFFSET = -40,
	/** In a frame of WebAssembly. */
	JAVASCRIPT_SLOT_INSTANCE = -16,
	/** In a frame of V8 itself: the first of its spilled values; the others are below it. */
	JAVASCRIPT_SLOT_SPILLED = -16,
	/** In an entry from C++: rbx. */
	JAVASCRIPT_SLOT_RBX = -56,
};

/**
 * A cached address in code, kept between unwinds. The code may have been replaced by another one: each use checks the
 * process.
 */
struct javascript_cached_code {
	/** 0 in an unused entry. */
	__u64 process_key;
	__u64 address;
	/** Address of the object in the code page. */
	__u64 object;
	/** For optimized code: its deoptimization data, the number of its compilation, the fingerprint of both. */
	__u64 data;
	__u32 optimization;
	__u32 fingerprint;
};

/** A cached SharedFunctionInfo, kept and checked in the same way. */
struct javascript_cached_function {
	__u64 process_key;
	__u64 shared;
	/** Arguments of javascript_function_fingerprint(). */
	__u64 ids;
	__u64 script_id;
	__u32 fingerprint;
	__u32 reserved;
};

/** Where the return address of a leaf that moves it is looked for: return_address is asked whether it is in V8's code. */
enum javascript_moved {
	JAVASCRIPT_NOT_MOVED,
	/** It is where the instructions or the stack pointer say. */
	JAVASCRIPT_MOVED,
	/** It is where it was before. */
	JAVASCRIPT_MOVED_FROM,
};

/** Position of an unwind in the frames of V8's code. */
struct javascript_unwind {
	/** First cell of the struct javascript_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** Result of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;
	/** word_count after the last frame of a function, if no other frame follows it. */
	__u32 function_end;
	/** Offset of the next interpreted frame's bytecode, if it is known from registers; else 0. */
	__u32 bytecode_offset;
	/** That frame's slot may have the offset of an earlier bytecode. */
	__u32 is_before;
	/** The address that is looked up is in a builtin. */
	__u32 is_in_builtins;
	__u32 reserved;
	/** The leaf was a builtin's, and its caller was found by rows that may be a guess. */
	__u32 is_behind_leaf;
	/** enum javascript_moved: what is asked of the leaf, in a builtin without rows, that moves its return address. */
	__u32 moved;
	/** Offset of the instruction that is looked at, from the leaf's: not in a local variable either. */
	__u32 code_at;
	/** The current frame. */
	__u32 fingerprint;
	__u32 kind;
	__u64 function;
	__u64 context;
	__u64 shared;
	/** The current frame's caller. */
	__u64 return_address;
	__u64 caller_sp;
	__u64 caller_fp;
	/** Stack pointer of the frame that has called a helper, JAVASCRIPT_BUILTIN_HELPER; 0: the last builtin was none. */
	__u64 helper_sp;
	/** The current code: the object in the code page, its Code, instructions and deoptimization data. */
	__u64 object;
	__u64 code;
	__u64 code_start;
	__u64 code_size;
	__u64 code_data;
	/**
	 * Address of the first builtin, where the builtin that was left last in this process has it; 0: none was left. It is kept
	 * between unwinds.
	 */
	__u64 builtins;
	/** The script that was read last, and the word with its number. */
	__u64 script;
	__u64 script_id;
	/** Result of a search in one of V8's maps. */
	__u64 node_key;
	__u64 node_value;
	/** The part of an object that was read last. */
	__u64 head[JAVASCRIPT_CODE_WORDS];
	/** Maps of functions: there are few, and functions of one map mostly call each other. */
	__u64 function_maps[JAVASCRIPT_MAPS_COUNT];
	struct javascript_process process;
	/** Different for each process that ever runs. */
	__u64 process_key;
	struct javascript_cached_code cached_code[JAVASCRIPT_CACHE_COUNT];
	struct javascript_cached_function cached_functions[JAVASCRIPT_CACHE_COUNT];
};

/** Resets the state for a new sample. */
static __always_inline void javascript_state_begin(struct javascript_unwind *unwind)
{
	unwind->cell = 0;
	unwind->function_end = 0;
	unwind->bytecode_offset = 0;
	unwind->is_before = 0;
	unwind->is_behind_leaf = 0;
	unwind->moved = JAVASCRIPT_NOT_MOVED;
	unwind->helper_sp = 0;
	unwind->script = 0;
	for (int i = 0; i < JAVASCRIPT_MAPS_COUNT; i++)
		unwind->function_maps[i] = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void javascript_state_forget(struct javascript_unwind *unwind)
{
	__builtin_memset(unwind->cached_code, 0, sizeof(unwind->cached_code));
	__builtin_memset(unwind->cached_functions, 0, sizeof(unwind->cached_functions));
}

#endif
