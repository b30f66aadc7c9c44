/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The JavaScript frames of a thread that waits in C++, from the innermost frame by which V8's code has called C++ on:
 * such a frame ends where a chain of frame pointers begins that V8 keeps without gaps. C++ frames between JavaScript
 * ones are jumped over by what each entry into V8's code has saved. What a frame is follows from the code that its pc
 * lies in; the word at V8_FRAME_CONTEXT, where it is a type and not a context, says of which kind a frame of V8 itself
 * is.
 *
 * Source: execution/frames.cc (StackFrameIterator, ComputeType), execution/frame-constants.h,
 * execution/x64/frame-constants-x64.h, execution/arm64/frame-constants-arm64.h @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_WALK_H
#define INTERPRETERS_JAVASCRIPT_V8_WALK_H

#include "interpreters/javascript/v8_builtins.h"
#include "interpreters/javascript/v8_frames.h"

enum {
	V8_WALK_MAX_FRAMES = 1 << 14,
	/** From the stack pointer on, C++ frames that were called from JavaScript. */
	V8_WALK_MAX_SCAN_BYTES = 1 << 20,
};

enum v8_walk_kind {
	/** frame is set. */
	V8_WALK_FUNCTION,
	/** A function that is one of V8's builtins: builtin is set, and frame.function. */
	V8_WALK_BUILTIN,
	V8_WALK_REGEXP,
	V8_WALK_WASM,
	/** C++ that was called from JavaScript, and calls it again. */
	V8_WALK_CPP,
};

struct v8_walk_frame {
	enum v8_walk_kind kind;
	struct v8_frame frame;
	const struct v8_builtin *builtin;
	/** Called by `new`. */
	bool is_construct;
};

/** All borrowed. */
struct v8_walk {
	const struct v8_heap *heap;
	/** Added to ELF virtual addresses of V8's file. */
	uint64_t bias;
	/** The builtin at @pc in the process; NULL: there is none. */
	const struct v8_builtin *(*find_builtin)(void *context, uint64_t pc);
	/** A frame, innermost first; not 0 ends the walk, and is what it returns. */
	int (*emit)(void *context, const struct v8_walk_frame *frame);
	void *context;
};

/**
 * Walks the stack from @sp to @stack_end. -ENOENT: no code of V8 has called what runs; -EBADMSG: a frame that is
 * none; -E2BIG over a limit; -EFAULT, -ESRCH.
 */
int v8_walk_stack(const struct v8_walk *walk, uint64_t sp, uint64_t stack_end);

#endif
