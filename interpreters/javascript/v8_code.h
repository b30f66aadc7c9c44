/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the code object that contains an address, as V8's own stack unwinds do, and reads its kind, which is the tier of
 * a function's code, and its tables. The current code of a function is never used for this: activations that were
 * entered before, on-stack replacement and deoptimized code have other code objects.
 *
 * Up to V8 11.3 each code page has a list of its objects (heap/memory-chunk-layout.h, heap/code-object-registry.cc).
 * From 12.4 on the process has a std::map of libstdc++ with the pages, and each page a std::map of its objects
 * (common/code-memory-access.cc, ThreadIsolation::StartOfJitAllocationAt). The objects: objects/code.h,
 * objects/instruction-stream.h.
 *
 * Lists and trees change while they are read, and may be forged. So each look-up has a limit, and its result is used
 * only if it is a code object that contains @pc.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_CODE_H
#define INTERPRETERS_JAVASCRIPT_V8_CODE_H

#include "interpreters/javascript/v8_heap.h"

enum v8_tier {
	V8_TIER_INTERPRETED,
	/** Sparkplug. */
	V8_TIER_BASELINE,
	V8_TIER_MAGLEV,
	V8_TIER_TURBOFAN,
	/** Code that is no JavaScript function: a regular expression, wasm, a stub. */
	V8_TIER_REGEXP,
	V8_TIER_WASM,
	V8_TIER_OTHER,
};

struct v8_code {
	/** Tagged. */
	uint64_t object;
	enum v8_tier tier;
	/** Start of the instructions. */
	uint64_t start;
	uint32_t size;
	/** Size of the metadata that follows the instructions; it begins with the safepoint table. */
	uint32_t metadata_size;
	/** Tagged: deoptimization data of optimized code. */
	uint64_t data;
	/** Tagged: table of positions, or for Sparkplug's code of bytecode offsets. It may be no object. */
	uint64_t positions;
};

/** A node of one of V8's maps by address: libstdc++'s std::map, with words as keys and values. */
struct v8_map_node {
	uint64_t key;
	uint64_t value;
};

/** Finds the node with the largest key up to @key in the map at @map. -ENOENT: there is none; -E2BIG, -EFAULT, -ESRCH. */
int v8_map_find(const struct v8_heap *heap, uint64_t map, uint64_t key, struct v8_map_node *node);

/**
 * Finds the code at @pc in the process. @bias is added to ELF virtual addresses of V8's file. -ENOENT: there is no
 * code; -EBADMSG: the object found is no code; -E2BIG over a limit; -ENOMEM, -EFAULT, -ESRCH.
 */
int v8_code_find(const struct v8_heap *heap, uint64_t bias, uint64_t pc, struct v8_code *code);

/** Reads the Code object at tagged @object. -EBADMSG: it is no Code object; -EFAULT, -ESRCH. */
int v8_code_read(const struct v8_heap *heap, uint64_t object, struct v8_code *code);

/**
 * Reads V8's number of the compilation that made the optimized @code. It is unique in an isolate, except that Maglev of
 * V8 10.2 uses 0 for all. -ENOENT: the code is not optimized; -EBADMSG, -EFAULT, -ESRCH.
 */
int v8_code_optimization_id(const struct v8_heap *heap, const struct v8_code *code, int32_t *id);

#endif
