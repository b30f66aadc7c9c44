/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_unwind.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "interpreters/javascript/v8_function.h"
#include "lib/base/error.h"

enum {
	WORD = sizeof(uint64_t),
	/** Offset from the frame pointer of an entry frame of the word with the previous exit's frame pointer. */
	NEXT_EXIT_X86_64 = -64,
	NEXT_EXIT_AARCH64 = -24,
	SCAN_WORDS = 512,
	/** Number of words that are checked to recognize a frame: type, frame pointer, return address. */
	LINK_WORDS = 3,
	/** Limit of words that look like an exit, since each look-up of code costs reads. */
	CANDIDATES_MAX = 256,
};

/** The words of a frame from V8_FRAME_BYTECODE_OFFSET on. */
struct slots {
	uint64_t bytecode_offset;
	uint64_t bytecodes;
	uint64_t argument_count;
	uint64_t function;
	/** A context or a type. */
	uint64_t context;
	uint64_t caller_fp;
	uint64_t return_address;
};
_Static_assert(offsetof(struct slots, caller_fp) == -V8_FRAME_BYTECODE_OFFSET, "as on the stack");
_Static_assert(offsetof(struct slots, bytecodes) - offsetof(struct slots, caller_fp) ==
		       (size_t)V8_FRAME_BYTECODES,
	       "as on the stack");
_Static_assert(offsetof(struct slots, function) - offsetof(struct slots, caller_fp) ==
		       (size_t)V8_FRAME_FUNCTION,
	       "as on the stack");

/** The current frame of an unwind. */
struct position {
	uint64_t pc;
	uint64_t fp;
	struct slots slots;
};

/* True if the frame has @type; false if the layout's version has no such type. */
static bool has_type(uint64_t context, int32_t type)
{
	return type != V8_ABSENT && context == (uint64_t)(uint32_t)type << 1;
}

static bool is_exit(const struct v8_layout *layout, uint64_t context)
{
	return has_type(context, layout->frame_exit) ||
	       has_type(context, layout->frame_builtin_exit) ||
	       has_type(context, layout->frame_api_callback_exit);
}

static bool is_in_v8(const struct v8_unwind *unwind, uint64_t pc)
{
	struct v8_code code;

	return unwind->find_builtin(unwind->context, pc) ||
	       !v8_code_find(unwind->heap, unwind->bias, pc, &code);
}

/* Finds the innermost frame by which V8's code has called C++. */
static int find_exit(const struct v8_unwind *unwind, uint64_t sp, uint64_t stack_end, uint64_t *fp)
{
	uint64_t words[SCAN_WORDS];
	uint32_t candidates = 0;
	uint64_t end = stack_end - sp > V8_UNWIND_MAX_SCAN_BYTES ? sp + V8_UNWIND_MAX_SCAN_BYTES :
								   stack_end;

	for (uint64_t at = sp; at < end && end - at >= LINK_WORDS * WORD;
	     at += (SCAN_WORDS - LINK_WORDS + 1) * WORD) {
		size_t count = end - at < sizeof(words) ? (end - at) / WORD : SCAN_WORDS;
		int err = remote_memory_read(unwind->heap->memory, at, words, count * WORD);

		if (err)
			return err;
		for (size_t i = 0; i + LINK_WORDS <= count; i++) {
			const uint64_t found = at + (i + 1) * WORD, caller = words[i + 1];

			if (!is_exit(unwind->heap->layout, words[i]) || caller <= found ||
			    caller >= stack_end || caller % WORD)
				continue;
			if (is_in_v8(unwind, words[i + 2])) {
				*fp = found;
				return 0;
			}
			if (++candidates == CANDIDATES_MAX)
				return fail(-E2BIG, "too many words that look like an exit");
		}
	}
	return fail(-ENOENT, "no JavaScript has called what runs");
}

static int read_slots(const struct v8_unwind *unwind, uint64_t fp, struct slots *slots)
{
	return remote_memory_read(unwind->heap->memory,
				  fp + (uint64_t)(int64_t)V8_FRAME_BYTECODE_OFFSET, slots,
				  sizeof(*slots));
}

/* Moves to the frame at @fp. */
static int move_to(const struct v8_unwind *unwind, uint64_t pc, uint64_t fp, uint64_t stack_end,
		   struct position *at)
{
	if (fp <= at->fp || fp >= stack_end || fp % WORD)
		return fail(-EBADMSG, "a frame at %#" PRIx64 " behind one at %#" PRIx64, fp,
			    at->fp);
	at->pc = pc;
	at->fp = fp;
	return read_slots(unwind, fp, &at->slots);
}

static bool is_construct_call(const struct v8_unwind *unwind, const struct position *at)
{
	const struct v8_layout *layout = unwind->heap->layout;
	struct slots caller;

	return !read_slots(unwind, at->slots.caller_fp, &caller) &&
	       (has_type(caller.context, layout->frame_construct) ||
		has_type(caller.context, layout->frame_fast_construct));
}

static int emit_function(const struct v8_unwind *unwind, const struct position *at,
			 struct v8_unwind_frame *frame)
{
	frame->frame.pc = at->pc;
	frame->frame.is_return_address = true;
	/* Without a SharedFunctionInfo the frame has no name. */
	if (v8_function_shared(unwind->heap, at->slots.function, &frame->frame.shared))
		frame->frame.shared = 0;
	frame->frame.bytecodes = at->slots.bytecodes;
	frame->frame.bytecode_offset = at->slots.bytecode_offset;
	frame->is_construct = is_construct_call(unwind, at);
	return unwind->emit(unwind->context, frame);
}

static int emit_in_builtin(const struct v8_unwind *unwind, const struct position *at,
			   struct v8_unwind_frame *frame)
{
	const struct v8_layout *layout = unwind->heap->layout;
	const uint64_t context = at->slots.context;

	if (frame->builtin->builtin_class == JAVASCRIPT_BUILTIN_NO_FUNCTION)
		return 0;
	if (!v8_is_object(context) && !has_type(context, layout->frame_js_continuation) &&
	    !has_type(context, layout->frame_js_continuation_with_catch))
		return 0;
	frame->kind = frame->builtin->builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER ?
			      V8_UNWIND_FUNCTION :
			      V8_UNWIND_BUILTIN;
	frame->frame.tier = V8_TIER_INTERPRETED;
	return emit_function(unwind, at, frame);
}

static int emit_in_code(const struct v8_unwind *unwind, const struct position *at,
			struct v8_unwind_frame *frame)
{
	switch (frame->frame.code.tier) {
	case V8_TIER_BASELINE:
	case V8_TIER_MAGLEV:
	case V8_TIER_TURBOFAN:
		/* If the word is no context, the code has called the runtime before it has made its own frame. */
		if (!v8_is_object(at->slots.context))
			return 0;
		frame->kind = V8_UNWIND_FUNCTION;
		frame->frame.tier = frame->frame.code.tier;
		return emit_function(unwind, at, frame);
	case V8_TIER_REGEXP:
		frame->kind = V8_UNWIND_REGEXP;
		return unwind->emit(unwind->context, frame);
	case V8_TIER_WASM:
		frame->kind = V8_UNWIND_WASM;
		return unwind->emit(unwind->context, frame);
	default:
		return 0;
	}
}

/* Emits the frame according to the code at its pc; frames of V8 itself are left out. */
static int emit_frame(const struct v8_unwind *unwind, const struct position *at)
{
	struct v8_unwind_frame frame = { .builtin = unwind->find_builtin(unwind->context, at->pc) };
	int err;

	if (frame.builtin)
		return emit_in_builtin(unwind, at, &frame);
	err = v8_code_find(unwind->heap, unwind->bias, at->pc, &frame.frame.code);
	if (!err)
		return emit_in_code(unwind, at, &frame);
	/* Code of wasm modules is not on V8's heap. */
	if (has_type(at->slots.context, unwind->heap->layout->frame_wasm)) {
		frame.kind = V8_UNWIND_WASM;
		return unwind->emit(unwind->context, &frame);
	}
	/* The same holds for the wrappers around it, which have a type and are left out. */
	if (!(at->slots.context & V8_TAG))
		return 0;
	return err == -ENOENT ? fail(-EBADMSG, "no code at %#" PRIx64, at->pc) : err;
}

/* Moves from an entry into V8's code to the previous exit; *@is_last is set if there is none. */
static int cross_cpp(const struct v8_unwind *unwind, uint64_t stack_end, struct position *at,
		     bool *is_last)
{
	const int32_t offset = unwind->heap->layout->machine == EM_AARCH64 ? NEXT_EXIT_AARCH64 :
									     NEXT_EXIT_X86_64;
	const struct v8_unwind_frame frame = { .kind = V8_UNWIND_CPP };
	uint64_t fp = 0;
	int err = remote_memory_read(unwind->heap->memory, at->fp + (uint64_t)(int64_t)offset, &fp,
				     sizeof(fp));

	*is_last = !fp;
	if (err || !fp)
		return err;
	err = unwind->emit(unwind->context, &frame);
	if (!err)
		err = move_to(unwind, 0, fp, stack_end, at);
	if (!err && !is_exit(unwind->heap->layout, at->slots.context))
		err = fail(-EBADMSG, "an exit of type %#" PRIx64, at->slots.context);
	return err;
}

int v8_unwind_stack(const struct v8_unwind *unwind, uint64_t sp, uint64_t stack_end)
{
	const struct v8_layout *layout = unwind->heap->layout;
	struct position at = { 0 };
	bool is_last = false;
	uint64_t fp = 0;
	int err;

	if (sp % WORD || sp >= stack_end)
		return fail(-EBADMSG, "no stack at %#" PRIx64, sp);
	err = find_exit(unwind, sp, stack_end, &fp);
	if (!err)
		err = move_to(unwind, 0, fp, stack_end, &at);
	for (int i = 0; !err && !is_last; i++) {
		if (i == V8_UNWIND_MAX_FRAMES)
			return fail(-E2BIG, "more than %d frames", V8_UNWIND_MAX_FRAMES);
		err = move_to(unwind, at.slots.return_address, at.slots.caller_fp, stack_end, &at);
		if (err)
			break;
		if (has_type(at.slots.context, layout->frame_entry) ||
		    has_type(at.slots.context, layout->frame_construct_entry))
			err = cross_cpp(unwind, stack_end, &at, &is_last);
		else
			err = emit_frame(unwind, &at);
	}
	return err;
}
