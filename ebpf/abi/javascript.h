/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of V8 in a process: struct javascript_process, filled by attach in
 * interpreters/javascript and published as abi/runtime.h says. Nothing here names a version: offsets and numbers are
 * those of the process's own.
 *
 * A frame, two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_JAVASCRIPT, flags, object), tagged as V8 has it: the Code of optimized code, else the
 *		function's SharedFunctionInfo
 *	word 1	position << 32 | fingerprint
 *
 * position: JAVASCRIPT_NEW or not, enum javascript_code, and a place that it says the meaning of.
 *
 * fingerprint: javascript_function_fingerprint(), of optimized code with the number of its compilation. None of it
 * changes when the collector moves an object.
 */
#ifndef EBPF_ABI_JAVASCRIPT_H
#define EBPF_ABI_JAVASCRIPT_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

/** What runs the function. */
enum javascript_code {
	/** Bytecodes; the place is the bytecode's, or JAVASCRIPT_NO_PLACE. */
	JAVASCRIPT_INTERPRETED = 0,
	/** The same, but that of an earlier one: where the frame was when it called something last. */
	JAVASCRIPT_INTERPRETED_BEFORE = 1,
	/** Sparkplug's code; the place is in its instructions. */
	JAVASCRIPT_BASELINE = 2,
	/** Maglev's and TurboFan's; the place is in its instructions. */
	JAVASCRIPT_OPTIMIZED = 3,
	/** It is a builtin; the place is in the builtins. */
	JAVASCRIPT_BUILTIN = 4,
	/** Code of a regular expression, and of WebAssembly, of no function: word 0 is its address, the rest is 0. */
	JAVASCRIPT_REGEXP = 5,
	JAVASCRIPT_WASM = 6,
};

/** The function was called by `new`. */
#define JAVASCRIPT_NEW (1U << 31)

enum {
	JAVASCRIPT_CODE_SHIFT = 28,
	JAVASCRIPT_CODE_MASK = 7,
	JAVASCRIPT_PLACE_MASK = (1 << JAVASCRIPT_CODE_SHIFT) - 1,
	JAVASCRIPT_NO_PLACE = JAVASCRIPT_PLACE_MASK,
	/** A power of two: they are searched by halves. */
	JAVASCRIPT_BUILTIN_RANGES_MAX = 32,
	/** An object's tagged pointer minus its address. */
	JAVASCRIPT_TAG = 1,
	/** The length is here in arrays of all kinds, bytecodes too. It is a Smi. */
	JAVASCRIPT_ARRAY_LENGTH = 8,
	/** The elements of an array of words begin here. */
	JAVASCRIPT_ARRAY_DATA = 16,
	/** So much of a Code object is read at once, from its beginning, and of a function. */
	JAVASCRIPT_CODE_BYTES = 64,
	JAVASCRIPT_FUNCTION_BYTES = 40,
	/** And of a SharedFunctionInfo, from shared_script on: the numbers of the function are behind that. */
	JAVASCRIPT_SHARED_BYTES = 32,
	/** The same where there is no shared_unique_id. */
	JAVASCRIPT_SHARED_SHORT_BYTES = 24,
};

/** Whose frames those of a builtin are. */
enum javascript_builtin_class {
	/** A function's, if they have a context. */
	JAVASCRIPT_BUILTIN_OTHER = 0,
	/** The functions' that are interpreted. */
	JAVASCRIPT_BUILTIN_INTERPRETER = 1,
	/** Of bytecodes: they work for the interpreted frame that calls them. */
	JAVASCRIPT_BUILTIN_HANDLER = 2,
	/** V8's own, though they have a context. */
	JAVASCRIPT_BUILTIN_NO_FUNCTION = 3,
	/** Sparkplug's code calls it to make its frame. */
	JAVASCRIPT_BUILTIN_PROLOGUE = 4,
	/** Sparkplug's code ends with a jump to it; it leaves the frame. */
	JAVASCRIPT_BUILTIN_LEAVE = 5,
	/** It takes the frame of optimized code from the stack, and puts others there; no frame pointer tells its caller. */
	JAVASCRIPT_BUILTIN_DEOPTIMIZER = 6,
};

/** Builtins of one class, in bytes from the first builtin of all; they end where the next range starts. */
struct javascript_builtin_range {
	__u32 start;
	/** enum javascript_builtin_class */
	__u32 builtin_class;
};

/** Offsets are in bytes from the beginning of an object. What a version does not have is 0. */
struct javascript_process {
	/** Address of the pointer to V8's map of its code pages; 0: pages have lists of their code. */
	__u64 jit_pages;
	/** The first builtin has this ELF virtual address; all of them have so many bytes. */
	__u64 builtins_start;
	__u64 builtins_bytes;
	/** Sorted by start; the first one starts at 0, and those behind the last have start UINT32_MAX. */
	struct javascript_builtin_range ranges[JAVASCRIPT_BUILTIN_RANGES_MAX];

	/** A code page has a pointer to the list of its code here. */
	__u16 page_registry;
	/** A code page's entry in V8's map has the map of its code here. */
	__u16 jit_page_allocations;
	/** The object in a code page has its instructions here, and its Code object, if that is another one. */
	__u16 code_header;
	__u16 code_object;
	/** These are fields of Code. */
	__u16 code_start;
	__u16 code_flags;
	__u16 code_size;
	__u16 code_data;
	/** Low bits of Code's flags, and what they are. */
	__u16 kind_mask;
	__u16 kind_regexp;
	__u16 kind_baseline;
	__u16 kind_maglev;
	__u16 kind_turbofan;
	/** These are elements of deoptimization data. */
	__u16 deopt_optimization_id;
	__u16 deopt_shared;
	/** What deopt_shared leads to has the SharedFunctionInfo here, if it is not that itself. */
	__u16 wrapper_shared;
	__u16 function_shared;
	__u16 shared_script;
	__u16 shared_literal_id;
	/** A __u32, as the one before. */
	__u16 shared_unique_id;
	__u16 script_id;
	__u16 script_source;
	__u16 string_length;
	/** A bytecode's offset on the stack counts from so much before the first one. */
	__u16 bytecodes_before;
	/** What stands on the stack in place of a context; 0: no such frame. */
	__u16 marker_entry;
	__u16 marker_construct_entry;
	__u16 marker_construct;
	__u16 marker_fast_construct;
	__u16 marker_continuation;
	__u16 marker_continuation_with_catch;
	__u16 marker_wasm;
	/** An object's map has its type here, a __u16. Functions have so many types, the first one counted. */
	__u16 map_instance_type;
	__u16 type_function;
	__u16 type_function_count;
	/** Where bytecodes have their handlers: what the root register points to has the table's address so far behind. */
	__u32 dispatch_table;
};

_Static_assert(sizeof(struct javascript_process) == 352, "struct javascript_process is 22 cells");

/**
 * Makes the fingerprint of a function. @ids: its number in its script (low half) and in its isolate. @script_id: the word
 * in which its script has a number. @source_length: how long the script is. V8 gives each number once; but another
 * isolate, which may lie where one has ended, begins from the start.
 */
static inline __u32 javascript_function_fingerprint(__u64 ids, __u64 script_id, __u32 source_length)
{
	return fingerprint_of(fingerprint_mix(fingerprint_mix(0, ids), script_id), source_length);
}

/** Makes the fingerprint of a function's optimized code. @optimization: V8's number of the compilation. */
static inline __u32 javascript_code_fingerprint(__u32 function_fingerprint, __u32 optimization)
{
	return fingerprint_of(function_fingerprint, optimization);
}

#endif
