/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Unwinds the JavaScript frames of a thread that waits in C++. It starts at the innermost exit frame, by which V8's
 * code has called C++; from there on V8 keeps a chain of frame pointers without gaps. C++ frames between JavaScript
 * frames are skipped with the frame pointer that each entry into V8's code has saved. The code at a frame's pc decides
 * what the frame is. The word at V8_FRAME_CONTEXT is a context or a type; the type is the kind of a frame of V8 itself.
 *
 * Source: execution/frames.cc (StackFrameIterator, ComputeType), execution/frame-constants.h,
 * execution/x64/frame-constants-x64.h, execution/arm64/frame-constants-arm64.h @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_UNWIND_H
#define INTERPRETERS_JAVASCRIPT_V8_UNWIND_H

#include "interpreters/javascript/v8_builtins.h"
#include "interpreters/javascript/v8_frames.h"

enum {
	V8_UNWIND_MAX_FRAMES = 1 << 14,
	/** Limit of the search for the exit frame, from the stack pointer on through C++ frames. */
	V8_UNWIND_MAX_SCAN_BYTES = 1 << 20,
};

enum v8_unwind_kind {
	/** A function; `frame` is set. */
	V8_UNWIND_FUNCTION,
	/** A function that is one of V8's builtins; `builtin` and `frame.shared` are set. */
	V8_UNWIND_BUILTIN,
	V8_UNWIND_REGEXP,
	V8_UNWIND_WASM,
	/** C++ that JavaScript has called and that calls JavaScript again. */
	V8_UNWIND_CPP,
};

struct v8_unwind_frame {
	enum v8_unwind_kind kind;
	struct v8_frame frame;
	const struct v8_builtin *builtin;
	/** The function was called by `new`. */
	bool is_construct;
};

/** All borrowed. */
struct v8_unwind {
	const struct v8_heap *heap;
	/** Added to ELF virtual addresses of V8's file. */
	uint64_t bias;
	/** The builtin at @pc in the process; NULL: there is none. */
	const struct v8_builtin *(*find_builtin)(void *context, uint64_t pc);
	/** Receives a frame, innermost first. A result other than 0 ends the unwind, which returns it. */
	int (*emit)(void *context, const struct v8_unwind_frame *frame);
	void *context;
};

/**
 * Unwinds the stack from @sp to @stack_end. -ENOENT: there is no exit frame of V8's code; -EBADMSG: a frame is invalid;
 * -E2BIG over a limit; -EFAULT, -ESRCH.
 */
int v8_unwind_stack(const struct v8_unwind *unwind, uint64_t sp, uint64_t stack_end);

#endif
