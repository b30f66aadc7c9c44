/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the functions of a JavaScript frame, each with its offset in its script: one for interpreted code and
 * Sparkplug's, several for optimized code with inlined functions.
 *
 * Optimized code has two tables. The deoptimizer's translations are exact at calls, and include inlined builtins and
 * `new`; between calls there are none. The position table, which V8's own CPU profiler reads, has an entry for most
 * instructions. It may be empty: always for Maglev of Node.js 24.0, for others if V8 was not started with the flag for detailed
 * positions.
 *
 * Source: execution/frames.cc (Summarize), profiler/profiler-listener.cc (CodeCreateEvent), objects/code.cc
 * (SourcePosition::InliningStack), objects/deoptimization-data.h @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_FRAMES_H
#define INTERPRETERS_JAVASCRIPT_V8_FRAMES_H

#include "interpreters/javascript/v8_code.h"
#include "interpreters/javascript/v8_deopt.h"

enum {
	/** Limit of the size of a table or of a function's bytecodes. */
	V8_TABLE_MAX_BYTES = 1 << 20,
};

/** A frame of a function on the stack. */
struct v8_frame {
	/** Set if the function is not interpreted. */
	struct v8_code code;
	enum v8_tier tier;
	uint64_t pc;
	/** If not, the frame is the innermost one, and the instruction at pc is not done. */
	bool is_return_address;
	/** Tagged: the SharedFunctionInfo, the BytecodeArray, and for interpreted code the bytecode offset. */
	uint64_t shared;
	uint64_t bytecodes;
	uint64_t bytecode_offset;
};

struct v8_frame_function {
	/** Tagged, a SharedFunctionInfo. */
	uint64_t shared;
	/** Offset in the script, in UTF-16 units; -1: unknown. */
	int32_t script_offset;
	/** A builtin that continues in inlined code. */
	bool is_builtin;
	/** The code that it is inlined into calls it by `new`. */
	bool is_construct;
};

/** Innermost first; the last one is the function that has the frame. */
struct v8_frame_functions {
	uint32_t count;
	struct v8_frame_function items[V8_INLINED_MAX];
};

/** The table of optimized code to read. */
enum v8_inlining_source {
	/** The translations, or the positions where there is no translation. */
	V8_INLINING_BEST,
	V8_INLINING_TRANSLATIONS,
	V8_INLINING_POSITIONS,
};

/** The SharedFunctionInfo of the function that was compiled to the optimized @code. -EBADMSG, -EFAULT, -ESRCH. */
int v8_optimized_function(const struct v8_heap *heap, const struct v8_code *code, uint64_t *shared);

/**
 * Finds the functions of @frame. If no table has a frame of optimized code, the result is its own function alone,
 * without an offset. -ENOENT: the table of @source has no entry; -EBADMSG, -E2BIG, -ENOMEM, -EFAULT, -ESRCH. @functions
 * is undefined after an error.
 */
int v8_frame_find_functions(const struct v8_heap *heap, const struct v8_frame *frame,
			    enum v8_inlining_source source, struct v8_frame_functions *functions);

#endif
