/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From an address to the code object that it lies in, as V8's own stack walks find it, and what that object says of
 * itself: its kind, which is the tier of a function's code, and its tables. What a function's code is at the moment is
 * never asked: activations that were entered before, code for on-stack replacement and deoptimized code are other
 * objects.
 *
 * Up to V8 11.3 each code page has a list of its objects (heap/memory-chunk-layout.h, heap/code-object-registry.cc);
 * from 12.4 on there is one std::map for the process, of libstdc++, with one for each page
 * (common/code-memory-access.cc, ThreadIsolation::StartOfJitAllocationAt). The objects: objects/code.h,
 * objects/instruction-stream.h.
 *
 * Lists and trees change while they are read, and may be forged. So each look-up has a limit, and what it gives counts
 * only if the object found there is code that @pc lies in.
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
	/** The code is no JavaScript function: a regular expression, wasm, a stub. */
	V8_TIER_REGEXP,
	V8_TIER_WASM,
	V8_TIER_OTHER,
};

struct v8_code {
	/** Tagged. */
	uint64_t object;
	enum v8_tier tier;
	/** Of the instructions. */
	uint64_t start;
	uint32_t size;
	/** Behind the instructions: the safepoint table begins it. */
	uint32_t metadata_size;
	/** Tagged: deoptimization data of optimized code. */
	uint64_t data;
	/** Tagged: positions, in Sparkplug's code the table from pc to bytecode offsets; not always an object. */
	uint64_t positions;
};

/**
 * Finds the code at @pc in the process; @bias is added to ELF virtual addresses of the file that the layout is of.
 * -ENOENT: there is none; -EBADMSG: what is there is no code; -E2BIG over a limit; -ENOMEM, -EFAULT, -ESRCH.
 */
int v8_code_find(const struct v8_heap *heap, uint64_t bias, uint64_t pc, struct v8_code *code);

/** Reads the Code object at tagged @object. -EBADMSG: it is none; -EFAULT, -ESRCH. */
int v8_code_read(const struct v8_heap *heap, uint64_t object, struct v8_code *code);

/**
 * The number that V8 has given the compilation that made the optimized @code. No two of an isolate have the same one,
 * but for Maglev's of V8 10.2, which all have 0. -ENOENT: the code is of another tier; -EBADMSG, -EFAULT, -ESRCH.
 */
int v8_code_optimization_id(const struct v8_heap *heap, const struct v8_code *code, int32_t *id);

#endif
