/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a JavaScript frame to the functions that it stands for, each with its place in its script: one for interpreted
 * code and Sparkplug's, several for optimized code that has others inlined.
 *
 * Of optimized code two tables tell. The deoptimizer's translations are exact at calls, and know builtins and `new`
 * among what was inlined; there is none between calls. The position table, which V8's own CPU profiler reads, has an
 * entry for most instructions, and may be empty: Maglev's is in Node.js 24.0, others' where nobody asked V8 for
 * detailed positions.
 *
 * Source: execution/frames.cc (Summarize), profiler/profiler-listener.cc (CodeCreateEvent), objects/code.cc
 * (SourcePosition::InliningStack), objects/deoptimization-data.h @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_FRAMES_H
#define INTERPRETERS_JAVASCRIPT_V8_FRAMES_H

#include "interpreters/javascript/v8_code.h"
#include "interpreters/javascript/v8_deopt.h"

enum {
	/** What is read of one table, or of a function's bytecodes. */
	V8_TABLE_MAX_BYTES = 1 << 20,
};

/** A frame of a function, as it stands on the stack. */
struct v8_frame {
	/** Of the code, from its start, if it is not interpreted. */
	struct v8_code code;
	enum v8_tier tier;
	uint64_t pc;
	/** Else the pc is the innermost one, of an instruction that is not done. */
	bool is_return_address;
	/** Tagged: the function's SharedFunctionInfo, its BytecodeArray, and the bytecode offset of interpreted code. */
	uint64_t shared;
	uint64_t bytecodes;
	uint64_t bytecode_offset;
};

struct v8_function_place {
	/** Tagged, a SharedFunctionInfo. */
	uint64_t shared;
	/** In UTF-16 units; -1: not known. */
	int32_t script_offset;
	/** A function of V8's own that continues in what was inlined. */
	bool is_builtin;
	/** Called by `new` from the code that it is inlined into. */
	bool is_construct;
};

/** Innermost first; the last one is the function that has the frame. */
struct v8_function_places {
	uint32_t count;
	struct v8_function_place items[V8_INLINED_MAX];
};

/** Which table of optimized code is read. */
enum v8_inlining_source {
	/** The translations, and the positions where there is none. */
	V8_INLINING_BEST,
	V8_INLINING_TRANSLATIONS,
	V8_INLINING_POSITIONS,
};

/** The SharedFunctionInfo of the function that was compiled to the optimized @code. -EBADMSG, -EFAULT, -ESRCH. */
int v8_optimized_function(const struct v8_heap *heap, const struct v8_code *code, uint64_t *shared);

/**
 * The functions of @frame. Where no table tells of a frame of optimized code, its own function alone, without a
 * place. -ENOENT: the table of @source has nothing there; -EBADMSG, -E2BIG, -ENOMEM, -EFAULT, -ESRCH; @places is
 * undefined then.
 */
int v8_frame_places(const struct v8_heap *heap, const struct v8_frame *frame,
		    enum v8_inlining_source source, struct v8_function_places *places);

#endif
