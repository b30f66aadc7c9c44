/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * V8's data for the kernel side: struct javascript_process, one for each process. attach() in
 * interpreters/javascript fills it, and it is published as abi/runtime.h describes. Nothing here depends on a
 * version: offsets and numbers are those of the process's own V8.
 *
 * A frame has two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_JAVASCRIPT, flags, object), a tagged pointer as in V8: to the Code for optimized code,
 *		else to the function's SharedFunctionInfo
 *	word 1	position << 32 | fingerprint
 *
 * position: the flag JAVASCRIPT_NEW, an enum javascript_code, and in the low bits an offset whose meaning depends on
 * the enum.
 *
 * fingerprint: javascript_function_fingerprint(); for optimized code javascript_code_fingerprint(). Neither changes
 * when the collector moves an object.
 */
#ifndef EBPF_ABI_JAVASCRIPT_H
#define EBPF_ABI_JAVASCRIPT_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/frame.h"
#include "ebpf/abi/runtime.h"

/** The kind of code that runs the function. */
enum javascript_code {
	/** Bytecode; the offset is that of the bytecode, or JAVASCRIPT_NO_OFFSET. */
	JAVASCRIPT_INTERPRETED = 0,
	/** Bytecode; the offset is that of an earlier bytecode, the frame's last call. */
	JAVASCRIPT_INTERPRETED_BEFORE = 1,
	/** Sparkplug's code; the offset is in its instructions. */
	JAVASCRIPT_BASELINE = 2,
	/** Maglev's and TurboFan's code; the offset is in its instructions. */
	JAVASCRIPT_OPTIMIZED = 3,
	/** A builtin; the offset is from the first builtin of all. */
	JAVASCRIPT_BUILTIN = 4,
	/** Code of a regular expression, without a function: word 0 is its address, the rest is 0. */
	JAVASCRIPT_REGEXP = 5,
	/** Code of WebAssembly: word 0 is the module's instance, tagged; word 1 is javascript_wasm_word(). */
	JAVASCRIPT_WASM = 6,
};

/** The function was called by `new`. */
#define JAVASCRIPT_NEW (1U << 31)

enum {
	JAVASCRIPT_CODE_SHIFT = 28,
	JAVASCRIPT_CODE_MASK = 7,
	JAVASCRIPT_OFFSET_MASK = (1 << JAVASCRIPT_CODE_SHIFT) - 1,
	JAVASCRIPT_NO_OFFSET = JAVASCRIPT_OFFSET_MASK,
	/** A power of two, for the binary search. */
	JAVASCRIPT_BUILTIN_RANGES_MAX = 64,
	/** An object's tagged pointer minus its address. */
	JAVASCRIPT_TAG = 1,
	/** Offset of the length, a Smi, in arrays of all kinds, those of bytecodes included. */
	JAVASCRIPT_ARRAY_LENGTH = 8,
	/** Offset of the elements of an array of words. */
	JAVASCRIPT_ARRAY_DATA = 16,
	/** Sizes of one read from the beginning of a Code object, and of a function. */
	JAVASCRIPT_CODE_BYTES = 64,
	JAVASCRIPT_FUNCTION_BYTES = 40,
	/** Size of one read of a SharedFunctionInfo from shared_script on, which covers the function's numbers. */
	JAVASCRIPT_SHARED_BYTES = 32,
	/** Size of that read where there is no shared_unique_id. */
	JAVASCRIPT_SHARED_SHORT_BYTES = 24,
};

/** Classes of builtins, by the function to which their frames belong. */
enum javascript_builtin_class {
	/** The frame is a function's if it has a context. */
	JAVASCRIPT_BUILTIN_OTHER = 0,
	/** The frame is that of an interpreted function. */
	JAVASCRIPT_BUILTIN_INTERPRETER = 1,
	/** A bytecode handler: it works for the interpreted frame that calls it. */
	JAVASCRIPT_BUILTIN_HANDLER = 2,
	/** The frame is V8's own, though it has a context. */
	JAVASCRIPT_BUILTIN_NO_FUNCTION = 3,
	/** Sparkplug's code calls it to make its frame. */
	JAVASCRIPT_BUILTIN_PROLOGUE = 4,
	/** Sparkplug's code ends with a jump to it; it leaves the frame. */
	JAVASCRIPT_BUILTIN_LEAVE = 5,
	/** It replaces the frame of optimized code on the stack by others; no frame pointer leads to its caller. */
	JAVASCRIPT_BUILTIN_DEOPTIMIZER = 6,
	/** It calls C++. When that has thrown, it goes to the frame of the function that catches, whose pc is not on the stack. */
	JAVASCRIPT_BUILTIN_EXIT = 7,
	/** It goes on to a function, for which it may move the arguments and the return address. It has no frame then. */
	JAVASCRIPT_BUILTIN_CALL = 8,
	/** Builtins without a frame call it, too: write barriers, and what turns a number into an integer. */
	JAVASCRIPT_BUILTIN_HELPER = 9,
};

/** Builtins of one class, in bytes from the first builtin of all; they end where the next range starts. */
struct javascript_builtin_range {
	__u32 start : JAVASCRIPT_CODE_SHIFT;
	/** enum javascript_builtin_class */
	__u32 builtin_class : 32 - JAVASCRIPT_CODE_SHIFT;
};

/** Offsets are in bytes from the beginning of an object. An offset or number that a version does not have is 0. */
struct javascript_process {
	/** Address of the pointer to V8's map of its code pages; 0: pages have lists of their code. */
	__u64 jit_pages;
	/** ELF virtual address of the first builtin; size of all builtins. */
	__u64 builtins_start;
	__u64 builtins_bytes;
	/** Sorted by start; the first one starts at 0, and those behind the last have start JAVASCRIPT_OFFSET_MASK. */
	struct javascript_builtin_range ranges[JAVASCRIPT_BUILTIN_RANGES_MAX];

	/** In a code page: the pointer to the list of its code. */
	__u16 page_registry;
	/** In a code page's entry in V8's map: the map of its code. */
	__u16 jit_page_allocations;
	/** In the object in a code page: its instructions; its Code object, if that is another one. */
	__u16 code_header;
	__u16 code_object;
	/** In a Code object. */
	__u16 code_start;
	__u16 code_flags;
	__u16 code_size;
	__u16 code_data;
	/** Mask of the kind in Code's flags, and its values. */
	__u16 kind_mask;
	__u16 kind_regexp;
	__u16 kind_baseline;
	__u16 kind_maglev;
	__u16 kind_turbofan;
	/** In deoptimization data. */
	__u16 deopt_optimization_id;
	__u16 deopt_shared;
	/** In the object at deopt_shared: the SharedFunctionInfo, if the object is a wrapper of it. */
	__u16 wrapper_shared;
	__u16 function_shared;
	__u16 shared_script;
	__u16 shared_literal_id;
	/** A __u32, as shared_literal_id. */
	__u16 shared_unique_id;
	__u16 script_id;
	__u16 script_source;
	__u16 string_length;
	/** A bytecode offset on the stack counts from this many bytes before the first bytecode. */
	__u16 bytecodes_before;
	/** Markers on the stack in the slot of the context; 0: there are no such frames. */
	__u16 marker_entry;
	__u16 marker_construct_entry;
	__u16 marker_construct;
	__u16 marker_fast_construct;
	__u16 marker_continuation;
	__u16 marker_continuation_with_catch;
	__u16 marker_wasm;
	__u16 marker_wasm_to_js;
	/** In an object's map: its type, a __u16. The first type of functions, and the number of their types. */
	__u16 map_instance_type;
	__u16 type_function;
	__u16 type_function_count;
	__u16 reserved;
	/** Offset of the address of the table of bytecode handlers, from the address in the root register. */
	__u32 dispatch_table;
	__u32 unused[3];
};

_Static_assert(sizeof(struct javascript_process) == 368, "struct javascript_process is 23 cells");

/**
 * Makes the fingerprint of a function. @ids: its number in its script (low half) and in its isolate. @script_id: the word
 * with the number of its script. @source_length: the length of the script. An isolate never uses a number twice, but
 * another isolate, which may be at the address of one that has ended, counts from the beginning.
 */
static inline __u32 javascript_function_fingerprint(__u64 ids, __u64 script_id, __u32 source_length)
{
	return fingerprint_of(fingerprint_mix(fingerprint_mix(0, ids), script_id), source_length);
}

/**
 * Makes word 1 of a frame at @pc in code of WebAssembly. @bytes: the 8 bytes of code before @pc, 0: unreadable. Code has no
 * number, and V8 uses its memory again; 12 bits of a hash of these bytes show most of that.
 */
static inline __u64 javascript_wasm_word(__u64 pc, __u64 bytes)
{
	return (__u64)JAVASCRIPT_WASM << (32 + JAVASCRIPT_CODE_SHIFT) |
	       fingerprint_mix(0, bytes) >> 52 << FRAME_ADDRESS_BITS | (pc & FRAME_ADDRESS_MASK);
}

/** Makes the fingerprint of a function's optimized code. @optimization: V8's number of the compilation. */
static inline __u32 javascript_code_fingerprint(__u32 function_fingerprint, __u32 optimization)
{
	return fingerprint_of(function_fingerprint, optimization);
}

#endif
