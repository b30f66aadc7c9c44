/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The layout of V8's objects by version: offsets of fields, instance types, numbers of code kinds and of frame types.
 * node and libnode.so export much of it as v8dbg_* symbols (ints in their data, made by
 * tools/gen-postmortem-metadata.py). The rest is in one table, which has a column for the V8 of each release line of
 * Node.js, and the source file of each row. A value that is both exported and in the table must agree. A version
 * without a column is refused, and so is a file that lacks an export which the table does not replace.
 *
 * Offsets are in bytes from an object's start, which is its tagged pointer minus V8_TAG. V8_TAGGED_BYTES and
 * V8_SMI_SHIFT are checked, so builds with pointer compression, the sandbox or other Smis are refused.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_LAYOUT_H
#define INTERPRETERS_JAVASCRIPT_V8_LAYOUT_H

#include <stdint.h>

#include "lib/elf/elf_image.h"

enum {
	/** The version has no such field or number. */
	V8_ABSENT = -1,
	V8_TAGGED_BYTES = 8,
	/** Low bit of a pointer to an object on V8's heap; a Smi has a 0 there. */
	V8_TAG = 1,
	V8_TAG_MASK = 3,
	/** Tag of a weak pointer, as in the literals of optimized code. */
	V8_WEAK_TAG = 3,
	V8_SMI_SHIFT = 32,
	/** Offsets from the frame pointer. A frame that is no function's has twice its type instead of a context. */
	V8_FRAME_CONTEXT = -8,
	V8_FRAME_FUNCTION = -16,
	V8_FRAME_BYTECODES = -32,
	V8_FRAME_BYTECODE_OFFSET = -40,
	/** Offset in ThreadIsolation::trusted_data_ of a pointer to the map of pages (common/code-memory-access.h). */
	V8_TRUSTED_JIT_PAGES = 24,
	/** Bits of a string's instance type. */
	V8_STRING_REPRESENTATION = 7,
	V8_STRING_SEQUENTIAL = 0,
	V8_STRING_CONS = 1,
	V8_STRING_EXTERNAL = 2,
	V8_STRING_SLICED = 3,
	V8_STRING_THIN = 5,
	V8_STRING_ONE_BYTE = 8,
	/** The bit of an external string that has no pointer to its characters. */
	V8_STRING_UNCACHED = 16,
};

/** The versions of V8 that have a column; they belong to Node.js 16, 18, 20, 22, 24, 25 and 26. */
enum v8_line {
	V8_9_4,
	V8_10_2,
	V8_11_3,
	V8_12_4,
	V8_13_6,
	V8_14_1,
	V8_14_6,
	V8_LINE_COUNT,
};

/** Read-only once read. Each int32_t comes from exports or the table, and may be V8_ABSENT. */
struct v8_layout {
	enum v8_line line;
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	uint32_t major;
	uint32_t minor;
	uint32_t build;
	uint32_t patch;
	/** ELF virtual address of ThreadIsolation::trusted_data_; 0 up to 11.3, where pages list their own code. */
	uint64_t trusted_data;

	/** Offset in a Map. */
	int32_t map_instance_type;
	/** Offsets in arrays of words and of bytes: the length, a Smi, then the elements. */
	int32_t array_length;
	int32_t array_data;

	/** Offset of an int32_t: the number of characters. */
	int32_t string_length;
	int32_t string_characters;
	int32_t cons_first;
	int32_t cons_second;
	int32_t sliced_parent;
	int32_t sliced_offset;
	int32_t thin_actual;
	/** Offset of an untagged pointer. */
	int32_t external_data;

	int32_t function_shared;
	int32_t shared_data;
	int32_t shared_name;
	/** Offset of a Script; up to 11.3 it may be a DebugInfo instead. */
	int32_t shared_script;
	int32_t debug_info_script;
	/** Offset of an int32_t: the function's number in its script. */
	int32_t shared_literal_id;
	/** Offset of a uint32_t: the function's number in its isolate (from 12.4 on). */
	int32_t shared_unique_id;
	/** Offset in a SharedFunctionInfoWrapper. */
	int32_t wrapper_shared;
	int32_t interpreter_data_bytecodes;
	/** Offsets in a BaselineData, which 9.4 has: Sparkplug's code, and bytecodes or an InterpreterData. */
	int32_t baseline_data_code;
	int32_t baseline_data_bytecodes;
	int32_t uncompiled_inferred_name;

	int32_t script_source;
	int32_t script_name;
	int32_t script_line_offset;
	int32_t script_column_offset;
	int32_t script_line_ends;
	/** Offset of a Smi: the script's number in its heap. */
	int32_t script_id;
	int32_t script_source_url;

	/** Offsets in a ScopeInfo, in words after the map: number of context locals, and end of the fixed part. */
	int32_t scope_local_count;
	int32_t scope_variable_part;
	/** The scope type that has one more word in front; V8_ABSENT: there is none. */
	int32_t scope_module_type;
	/** Number of locals from which their names are in a hash table; V8_ABSENT: never. */
	int32_t scope_table_locals;
	/** 1: a receiver that is a local or on the stack has a word of its own. */
	int32_t scope_has_receiver_word;

	int32_t bytecodes_length;
	int32_t bytecodes_positions;
	int32_t bytecodes_data;

	/** Offsets in an object of a code page: its instructions, and the Code object if that is another one. */
	int32_t code_header;
	int32_t code_object;
	/** Offset in the Code object of deoptimization data; in Sparkplug's, of bytecodes or an InterpreterData. */
	int32_t code_data;
	int32_t code_positions;
	/** Offset of an untagged pointer. */
	int32_t code_start;
	int32_t code_flags;
	int32_t code_size;
	int32_t code_metadata_size;

	/** Mask of the kind in the low bits of the flags. */
	int32_t kind_mask;
	int32_t kind_regexp;
	int32_t kind_wasm;
	int32_t kind_baseline;
	int32_t kind_maglev;
	int32_t kind_turbofan;

	/** Indexes of elements of deoptimization data. */
	int32_t deopt_translations;
	int32_t deopt_protected_literals;
	int32_t deopt_literals;
	/** Index of a Smi: the number of the compilation in its isolate. */
	int32_t deopt_optimization_id;
	int32_t deopt_shared;
	int32_t deopt_inlining;
	/** Entries of three elements: bytecode offset, index of the translation, pc offset of the exit. */
	int32_t deopt_entries;

	/** Offset in a code page's header of the pointer to its list of code objects (up to 11.3). */
	int32_t page_registry;
	/** Offset in a JitPage of its map of allocations (from 12.4 on). */
	int32_t jit_page_allocations;

	/** Offset in a module's trusted instance of its instance (from 12.4 on), and in that of the WasmModuleObject. */
	int32_t wasm_trusted_instance;
	int32_t wasm_instance_module;
	/** Offsets in a WasmModuleObject of its Foreign, which leads to its NativeModule, and of its Script. */
	int32_t wasm_module_native;
	int32_t wasm_module_script;
	/** Offsets in a NativeModule: of the module's bytes, and of the map of its code; a vector of newer code follows that. */
	int32_t wasm_bytes;
	int32_t wasm_code;
	/** Offsets in a WasmCode of int32_t: the size of its instructions, and the function's index. */
	int32_t wasm_code_size;
	int32_t wasm_code_index;

	int32_t frame_entry;
	int32_t frame_construct_entry;
	int32_t frame_exit;
	int32_t frame_builtin_exit;
	int32_t frame_api_callback_exit;
	int32_t frame_construct;
	int32_t frame_fast_construct;
	int32_t frame_js_continuation;
	int32_t frame_js_continuation_with_catch;
	int32_t frame_wasm;
	int32_t frame_wasm_to_js;

	/** First instance type that is no string; strings have lower ones. */
	int32_t type_first_nonstring;
	int32_t type_function;
	/** Number of instance types of functions, from type_function on. */
	int32_t type_function_count;
	int32_t type_shared;
	int32_t type_wrapper;
	int32_t type_script;
	int32_t type_scope_info;
	int32_t type_wasm_module;
	int32_t type_debug_info;
	int32_t type_uncompiled_first;
	int32_t type_uncompiled_last;
	int32_t type_bytecodes;
	int32_t type_runtime_data;
	int32_t type_baseline_data;
	int32_t type_code;
	/** Instance type of the object in a code page. */
	int32_t type_stream;
	int32_t type_byte_array;
	int32_t type_trusted_byte_array;
	int32_t type_fixed_array;
};

/**
 * Reads the layout of the V8 in @image. -ENOENT: there is no V8; -EOPNOTSUPP: its version is unknown, or an export is
 * missing or contradicts the table; -EBADMSG.
 */
int v8_layout_read(const struct elf_image *image, struct v8_layout *layout);

#endif
