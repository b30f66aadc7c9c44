/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * javascript_step(): steps from one frame of V8's code to its caller. V8 has two kinds of code: builtins, which are in the
 * file and have rows as other native code, so that their frames become pending; and code that V8 has generated. Both have
 * a frame pointer during calls. The kind of a frame follows from the code at its pc, and for frames of V8 itself from the
 * marker in the slot of the context. Source: execution/frames.cc (ComputeType), execution/frame-constants.h,
 * builtins/x64/builtins-x64.cc @ V8 9.4 to 14.6.
 *
 * Nothing of the process is trusted: each step goes up the stack, or ends the unwind.
 */
#ifndef EBPF_JAVASCRIPT_STEP_BPF_H
#define EBPF_JAVASCRIPT_STEP_BPF_H

#include "ebpf/javascript/javascript_bytecode.bpf.h"
#include "ebpf/javascript/javascript_wasm.bpf.h"

enum {
	JAVASCRIPT_STEPS_MAX = LANGUAGE_STEPS_MAX,
};

/* Adds the frame of the function whose SharedFunctionInfo is at unwind->shared, with unwind->fingerprint. */
static __always_inline enum unwind_error javascript_push(struct unwind_state *state, __u32 flags,
							 __u64 object, __u32 code, __u64 offset)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 position;
	enum unwind_error error;

	if (offset > JAVASCRIPT_NO_OFFSET)
		offset = JAVASCRIPT_NO_OFFSET;
	position = code << JAVASCRIPT_CODE_SHIFT | offset;
	/* The count is read again, since the verifier loses the bound of a value that was just set. */
	barrier();
	error = push_frame(state, frame_word(FRAME_JAVASCRIPT, flags, object),
			   position << 32 | unwind->fingerprint);
	barrier();
	unwind->function_end = state->record.word_count;
	return error;
}

/* Reads the JSFunction at tagged @object: sets unwind->shared and returns its map; 0: it cannot be read. */
static __always_inline __u64 javascript_read_function(struct javascript_unwind *unwind,
						      __u64 object)
{
	__u64 words[JAVASCRIPT_FUNCTION_BYTES / 8];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)(object - JAVASCRIPT_TAG)))
		return 0;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	unwind->shared = javascript_head_field(unwind, unwind->process.function_shared, 8);
	return words[0];
}

/* Adds the frame of the JSFunction that was read last. */
static __always_inline enum unwind_error
javascript_push_function(struct unwind_state *state, __u32 flags, __u32 code, __u64 offset)
{
	struct javascript_unwind *unwind = &state->javascript;

	if (!javascript_find_fingerprint(unwind))
		return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	return javascript_push(state, flags, unwind->shared, code, offset);
}

/* Marks the frame that was added last, if it is a function's, as called by `new`. */
static __always_inline void javascript_mark_new(struct unwind_state *state)
{
	__u32 index = state->record.word_count;

	if (index < 2 || index > TRACE_MAX_WORDS || index != state->javascript.function_end)
		return;
	state->record_words[RECORD_HEADER_WORDS + index - 1] |= (__u64)JAVASCRIPT_NEW << 32;
}

static __always_inline bool javascript_is_continuation(const struct javascript_unwind *unwind)
{
	return javascript_is_marker(unwind->context, unwind->process.marker_continuation) ||
	       javascript_is_marker(unwind->context,
				    unwind->process.marker_continuation_with_catch);
}

/* Ends the language's step; a native step comes next. @is_shown: the pending frame is added. */
static __always_inline enum unwind_error javascript_release(struct unwind_state *state,
							    bool is_shown)
{
	if (is_shown)
		return release_frame(state);
	state->language = FRAME_NONE;
	return UNWIND_OK;
}

/* The next step is the language's own again, and a native one only if state->pc is not in V8's code. */
static __always_inline void javascript_stay(struct unwind_state *state)
{
	state->language = FRAME_JAVASCRIPT;
	state->wait = WAIT_CODE;
}

/* Bias of the file that the pending frame is in: a native step has just left it. */
static __always_inline __u64 javascript_pending_bias(struct unwind_state *state)
{
	return state->mappings[state->last_mapping % MAPPING_CACHE_COUNT].bias;
}

/* True if unwind->shared is a cached SharedFunctionInfo. */
static __always_inline bool javascript_is_known_function(const struct javascript_unwind *unwind)
{
	const struct javascript_cached_function *cached =
		&unwind->cached_functions[javascript_cache_index(unwind->shared)];

	return cached->process_key == unwind->process_key && cached->shared == unwind->shared;
}

/* True if objects with the map at tagged @map are functions. */
static __always_inline bool javascript_is_function_map(struct javascript_unwind *unwind, __u64 map)
{
	__u32 index = map / 8;
	__u16 type = 0;

	/* The verifier must see the check of the range, which the compiler may drop. */
	barrier_var(index);
	index %= JAVASCRIPT_MAPS_COUNT;
	if (map && unwind->function_maps[index] == map)
		return true;
	if (bpf_probe_read_user(
		    &type, sizeof(type),
		    (const void *)(map - JAVASCRIPT_TAG + unwind->process.map_instance_type)) ||
	    (__u16)(type - unwind->process.type_function) >= unwind->process.type_function_count)
		return false;
	unwind->function_maps[index] = map;
	return true;
}

/*
 * True if the object at tagged @object is a JSFunction; then it is the one that was read last. While the collector moves
 * it, its first word is the new address; all others are unchanged. V8 writes that word before it copies anything to the
 * new object (heap/scavenger-inl.h, MigrateObject).
 */
static __always_inline bool javascript_is_function(struct javascript_unwind *unwind, __u64 object)
{
	__u64 map = javascript_read_function(unwind, object);
	bool is_moved = map && !(map & JAVASCRIPT_TAG);

	if (!map || (is_moved && read_word(map, &map)))
		return false;
	return javascript_is_function_map(unwind, map) ||
	       (is_moved && javascript_is_known_function(unwind));
}

/* Steps out of a builtin without a frame: that of a leaf is not made yet, or was popped. */
static __always_inline enum unwind_error javascript_leave_frameless(struct unwind_state *state,
								    __u32 builtin_class)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 slot = 0;

	/* Handlers jump from one to the next without a call, and return to the interpreter. */
	unwind->is_behind_leaf = 1;
	if (builtin_class == JAVASCRIPT_BUILTIN_HANDLER) {
		if (state->fp_known)
			javascript_find_bytecode(state, state->fp, 0);
		return javascript_release(state, false);
	}
	unwind->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	/* At the end the register has a stale value, which may be a function that was called. */
	if (builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER &&
	    javascript_is_interpreter_end(state->registers[PC_REGISTER], state->pending_sp,
					  &slot) &&
	    (!slot || read_word(slot, &unwind->function)))
		unwind->function = 0;
	if (builtin_class != JAVASCRIPT_BUILTIN_INTERPRETER ||
	    !javascript_is_function(unwind, unwind->function))
		return javascript_release(state, true);
	state->language = FRAME_NONE;
	return javascript_push_function(state, 0, JAVASCRIPT_INTERPRETED, JAVASCRIPT_NO_OFFSET);
}

/* Adds the frame of a function in a builtin, with unwind->context and the frame pointer @fp, or releases the pending one. */
static __always_inline enum unwind_error javascript_push_in_builtin(struct unwind_state *state,
								    __u32 builtin_class, __u64 fp)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u32 flags = frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS;
	__u64 offset = frame_address(state->pending_words[0]) - unwind->process.builtins_start;
	__u32 code = JAVASCRIPT_BUILTIN;

	if (javascript_is_marker(unwind->context, unwind->process.marker_construct) ||
	    javascript_is_marker(unwind->context, unwind->process.marker_fast_construct))
		javascript_mark_new(state);
	/* The leaf has not pushed it yet. */
	if (!flags && fp + JAVASCRIPT_SLOT_CONTEXT < state->pending_sp &&
	    (builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER ||
	     builtin_class == JAVASCRIPT_BUILTIN_HANDLER))
		unwind->context = builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER ? JAVASCRIPT_TAG :
										    0;
	/* A handler may call without a frame; then the frame is that of the function. */
	if (builtin_class == JAVASCRIPT_BUILTIN_HANDLER &&
	    !javascript_is_context(unwind->context)) {
		if (!flags)
			javascript_find_bytecode(state, unwind->caller_fp, fp);
		return javascript_release(state, false);
	}
	if (builtin_class == JAVASCRIPT_BUILTIN_NO_FUNCTION ||
	    (!javascript_is_context(unwind->context) && !javascript_is_continuation(unwind)))
		return javascript_release(state, true);
	/* A value that a leaf has not pushed yet is in its register. */
	if (!flags && fp + JAVASCRIPT_SLOT_FUNCTION < state->pending_sp)
		unwind->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	else if (window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_FUNCTION, &unwind->function))
		return UNWIND_STACK_UNREADABLE;
	if (builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER ||
	    builtin_class == JAVASCRIPT_BUILTIN_HANDLER)
		offset = javascript_bytecode(state, fp, &code);
	if (!javascript_is_function(unwind, unwind->function))
		return javascript_release(state, true);
	state->language = FRAME_NONE;
	return javascript_push_function(state, flags, code, offset);
}

/* Reads the caller and unwind->function of the leaf at @position in its code. */
static __always_inline enum unwind_error javascript_read_leaf(struct unwind_state *state,
							      enum javascript_position position)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 bytes = 8;

	unwind->caller_fp = state->fp;
	unwind->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	/* Before it has a frame, a function counts as one with a context. */
	unwind->context = JAVASCRIPT_TAG;
	if (position == JAVASCRIPT_AT_SAVED_FP || position == JAVASCRIPT_BELOW_CALL) {
		if (position == JAVASCRIPT_AT_SAVED_FP &&
		    window_read_up(&state->stack, state->sp, &unwind->caller_fp))
			return UNWIND_STACK_UNREADABLE;
		bytes = 16;
	}
	unwind->caller_sp = state->sp + bytes;
	if (position >= JAVASCRIPT_RETURN_IN_R8) {
		unwind->return_address = state->registers[position == JAVASCRIPT_RETURN_IN_R8 ? 8 :
							  position == JAVASCRIPT_RETURN_IN_R9 ? 9 :
												10];
		return UNWIND_OK;
	}
	return window_read_up(&state->stack, unwind->caller_sp - 8, &unwind->return_address);
}

/* Reads the caller and unwind->function of a complete frame; a leaf may not have pushed all of it yet. */
static __always_inline enum unwind_error javascript_read_made(struct unwind_state *state,
							      bool is_leaf)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 slot = state->fp + JAVASCRIPT_SLOT_FUNCTION;
	enum unwind_error error;

	if (!state->fp_known)
		return UNWIND_REGISTER_UNKNOWN;
	unwind->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	if ((!is_leaf || slot >= state->sp) &&
	    window_read_up(&state->stack, slot, &unwind->function))
		return UNWIND_STACK_UNREADABLE;
	error = javascript_read_frame(state, state->fp);
	if (is_leaf && slot + 8 < state->sp)
		unwind->context = JAVASCRIPT_TAG;
	return error;
}

/*
 * Steps out of a leaf in a builtin that makes or leaves the frame of a function in Sparkplug's code. The builtin's rows
 * describe it as an ordinary function, which is wrong.
 */
static __always_inline enum unwind_error javascript_step_frame_builtin(struct unwind_state *state,
								       __u32 builtin_class)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 pc = state->registers[PC_REGISTER], sp = state->pending_sp, function = 0;
	enum javascript_position position = builtin_class == JAVASCRIPT_BUILTIN_PROLOGUE ?
						    javascript_prologue_position(unwind, pc) :
						    javascript_leave_position(pc, sp, &function);
	enum unwind_error error;

	state->sp = sp;
	state->fp = state->pending_fp;
	state->fp_known = state->pending_fp != 0;
	/* By a value in memory all paths to here are one to the verifier. */
	unwind->check = position;
	barrier();
	position = unwind->check;
	error = position == JAVASCRIPT_IN_FRAME ? javascript_read_made(state, true) :
						  javascript_read_leaf(state, position);
	if (!error && builtin_class == JAVASCRIPT_BUILTIN_LEAVE &&
	    (function || position != JAVASCRIPT_IN_FRAME) &&
	    (!function || read_word(function, &unwind->function)))
		unwind->function = 0;
	if (!error)
		error = javascript_go_on(state, unwind, sp);
	if (error)
		return error;
	prove_pending_frame(state);
	if (!javascript_is_context(unwind->context) ||
	    !javascript_is_function(unwind, unwind->function))
		return javascript_release(state, true);
	state->language = FRAME_NONE;
	return javascript_push_function(state, 0, JAVASCRIPT_INTERPRETED, JAVASCRIPT_NO_OFFSET);
}

/*
 * Handles a pending frame of a builtin, whose caller was found by rows. They may be a guess, or wrong; but a builtin that
 * is in a call has a frame, unless it has called a helper. The pending frame was no guess itself if the leaf before is a
 * builtin.
 */
static __always_inline enum unwind_error javascript_step_builtin(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	bool is_leaf = !(frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS);
	__u32 builtin_class =
		javascript_builtin_class(unwind, frame_address(state->pending_words[0]));
	__u64 fp = state->pending_fp;
	bool may_be_frameless = is_leaf || (builtin_class == JAVASCRIPT_BUILTIN_OTHER &&
					    unwind->helper_sp == state->pending_sp);
	enum unwind_error error;

	unwind->helper_sp = builtin_class == JAVASCRIPT_BUILTIN_HELPER ? state->sp : 0;
	if (is_leaf && (builtin_class == JAVASCRIPT_BUILTIN_PROLOGUE ||
			builtin_class == JAVASCRIPT_BUILTIN_LEAVE))
		return javascript_step_frame_builtin(state, builtin_class);
	if (may_be_frameless && state->sp != fp + 16)
		return javascript_leave_frameless(state, builtin_class);
	if (!fp)
		return javascript_release(state, true);
	error = javascript_read_frame(state, fp);
	if (!error)
		error = javascript_go_on(state, unwind, state->pending_sp);
	if (error)
		return error;
	if (javascript_is_marker(unwind->context, unwind->process.marker_entry) ||
	    javascript_is_marker(unwind->context, unwind->process.marker_construct_entry))
		state->rbx_location = fp + JAVASCRIPT_SLOT_RBX;
	prove_pending_frame(state);
	error = javascript_push_in_builtin(state, builtin_class, fp);
	unwind->builtins = unwind->process.builtins_start + javascript_pending_bias(state);
	if (!error && (builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER ||
		       builtin_class == JAVASCRIPT_BUILTIN_HANDLER))
		javascript_stay(state);
	return error;
}

/*
 * Takes a step at the return address state->pc if that is in the interpreter or in a bytecode handler, whose frames need
 * neither rows nor a pending frame. False: nothing has changed, and a native step must come next.
 */
static __always_inline bool javascript_step_interpreter(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u32 builtin_class = javascript_builtin_class(
		unwind, state->pc - unwind->builtins + unwind->process.builtins_start);
	__u32 code = JAVASCRIPT_BUILTIN;
	__u64 offset, fp = state->fp;

	if (!(state->frame_flags & FRAME_RETURN_ADDRESS) || !state->fp_known ||
	    javascript_read_frame(state, fp))
		return false;
	/* A handler may call without a frame; then the frame is that of the function. */
	if (builtin_class == JAVASCRIPT_BUILTIN_HANDLER && !javascript_is_context(unwind->context))
		return true;
	if ((builtin_class != JAVASCRIPT_BUILTIN_INTERPRETER &&
	     builtin_class != JAVASCRIPT_BUILTIN_HANDLER) ||
	    !javascript_is_context(unwind->context) ||
	    window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_FUNCTION, &unwind->function) ||
	    !javascript_is_function(unwind, unwind->function))
		return false;
	offset = javascript_bytecode(state, fp, &code);
	state->error = javascript_push_function(state, FRAME_RETURN_ADDRESS, code, offset);
	return true;
}

/* Adds the frame of the function whose code was found last. */
static __always_inline enum unwind_error javascript_push_code(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 offset = state->pc - unwind->code_start;
	__u64 address = state->pc - (state->frame_flags & FRAME_RETURN_ADDRESS);

	if (unwind->kind == unwind->process.kind_baseline) {
		if (!javascript_read_function(unwind, unwind->function))
			return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
		return javascript_push_function(state, state->frame_flags, JAVASCRIPT_BASELINE,
						offset);
	}
	if (!javascript_find_code_fingerprint(unwind, address))
		return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	return javascript_push(state, state->frame_flags, unwind->code, JAVASCRIPT_OPTIMIZED,
			       offset);
}

/* Adds the frame of a regular expression's code; V8's own stubs get none. */
static __always_inline enum unwind_error javascript_push_regexp(struct unwind_state *state)
{
	state->javascript.fingerprint = 0;
	return javascript_push(state, state->frame_flags, state->pc, JAVASCRIPT_REGEXP, 0);
}

static __always_inline bool javascript_is_function_code(const struct javascript_unwind *unwind)
{
	return unwind->kind == unwind->process.kind_baseline ||
	       unwind->kind == unwind->process.kind_maglev ||
	       unwind->kind == unwind->process.kind_turbofan;
}

/* Steps out of the code that was found last, and adds its frame. */
static __always_inline enum unwind_error javascript_leave_code(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	bool is_leaf = state->registers_known && !(state->frame_flags & FRAME_RETURN_ADDRESS);
	bool is_baseline = unwind->kind == unwind->process.kind_baseline;
	bool is_wasm = unwind->kind == JAVASCRIPT_KIND_WASM;
	enum javascript_position position = JAVASCRIPT_IN_FRAME;
	__u64 instance = 0;
	enum unwind_error error;

	if (is_leaf && is_wasm)
		position = javascript_wasm_position(unwind->code_start, state->pc, state->sp,
						    &instance);
	else if (is_leaf)
		position = javascript_leaf_position(unwind, state->pc, is_baseline);
	/* By a value in memory all paths to here are one to the verifier. */
	unwind->check = position;
	barrier();
	position = unwind->check;
	error = position == JAVASCRIPT_IN_FRAME ? javascript_read_made(state, is_leaf) :
						  javascript_read_leaf(state, position);
	if (error)
		return error;
	if (is_wasm) {
		if (position == JAVASCRIPT_IN_FRAME &&
		    (!is_leaf || state->fp + JAVASCRIPT_SLOT_INSTANCE >= state->sp))
			instance = state->fp + JAVASCRIPT_SLOT_INSTANCE;
		return javascript_push_wasm(state, instance);
	}
	if (javascript_is_function_code(unwind) && javascript_is_context(unwind->context))
		return javascript_push_code(state);
	if (unwind->kind == unwind->process.kind_regexp)
		return javascript_push_regexp(state);
	return UNWIND_OK;
}

/* Goes to the caller that was read, unless there is state->error. The caller is asked for first, if it is in V8's code, too. */
static __always_inline enum unwind_error javascript_leave(struct unwind_state *state)
{
	enum unwind_error error;

	barrier();
	error = state->error;
	state->language = FRAME_NONE;
	if (!error)
		error = javascript_go_on(state, &state->javascript, state->sp);
	if (!error)
		javascript_stay(state);
	return error;
}

/* Takes a step at state->pc, which is in no file, or in a builtin; javascript_look_up() has asked. */
static __always_inline enum unwind_error javascript_step_code(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;

	if (unwind->is_in_builtins) {
		unwind->check = javascript_step_interpreter(state);
		barrier();
		if (!unwind->check) {
			state->language = FRAME_NONE;
			return UNWIND_OK;
		}
		return javascript_leave(state);
	}
	if (!unwind->check)
		unwind->check = javascript_find_wasm(state, state->pc - (state->frame_flags &
									 FRAME_RETURN_ADDRESS));
	barrier();
	/* The rows of the builtin have led to V8's code, so the guess was right. */
	if (unwind->check && unwind->is_behind_leaf)
		state->frame_flags &= ~(__u32)FRAME_GUESS;
	unwind->is_behind_leaf = 0;
	if (!unwind->check) {
		decline_code(state);
		return UNWIND_OK;
	}
	state->error = javascript_leave_code(state);
	return javascript_leave(state);
}

/* Releases the pending frame and asks for a guess of its caller. */
static __always_inline enum unwind_error javascript_guess_caller(struct unwind_state *state)
{
	state->guess_for = UNWIND_NO_INFO;
	return javascript_release(state, true);
}

/*
 * True if a leaf in a builtin without rows may have no frame: it is a bytecode handler and the frame pointer leads to the
 * frame of an interpreted function, which has no marker; or it moves the arguments of a call.
 */
static __always_inline bool javascript_is_frameless(struct unwind_state *state, __u32 builtin_class)
{
	if (builtin_class == JAVASCRIPT_BUILTIN_HANDLER)
		return !javascript_read_frame(state, state->fp) &&
		       javascript_is_context(state->javascript.context);
	return builtin_class == JAVASCRIPT_BUILTIN_CALL || builtin_class == JAVASCRIPT_BUILTIN_EXIT;
}

/*
 * Sets unwind->return_address of a leaf in a builtin without rows, if it may move the arguments of a call and the return
 * address with them: that is in a register, or at the stack pointer, which is not sure. False: it has a frame.
 */
static __always_inline bool javascript_may_move(struct unwind_state *state, __u32 builtin_class)
{
	struct javascript_unwind *unwind = &state->javascript;

	unwind->return_address = javascript_exit_address(unwind, state->registers,
							 state->registers[PC_REGISTER], state->sp);
	barrier();
	if (!unwind->return_address) {
		/* Not by the stack pointer alone: a builtin with a frame may have an old return address there. */
		if (!javascript_is_frameless(state, builtin_class))
			return false;
		if (read_word(state->sp, &unwind->return_address))
			unwind->return_address = 0;
	}
	unwind->moved = JAVASCRIPT_MOVED;
	return true;
}

/* Goes to the caller of a leaf that moves its return address, which was found. */
static __always_inline enum unwind_error javascript_leave_moving(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u32 builtin_class =
		javascript_builtin_class(unwind, frame_address(state->pending_words[0]));
	enum unwind_error error;

	unwind->is_behind_leaf = 1;
	unwind->caller_sp = state->sp + 8;
	unwind->caller_fp = state->fp;
	prove_pending_frame(state);
	error = javascript_go_on(state, unwind, state->sp);
	return error ? error :
		       javascript_release(state, builtin_class != JAVASCRIPT_BUILTIN_HANDLER);
}

/* Handles the leaf of javascript_may_move(); javascript_look_up() has asked for unwind->return_address. */
static __always_inline enum unwind_error javascript_step_moved(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 old = state->registers[JAVASCRIPT_MOVED_REGISTER];
	__u32 moved = unwind->moved;

	unwind->moved = JAVASCRIPT_NOT_MOVED;
	if (unwind->check)
		return javascript_leave_moving(state);
	/* The old address of the return address, or that itself. */
	if (old - state->sp < JAVASCRIPT_FRAME_MAX_BYTES && read_word(old, &old))
		old = 0;
	if (moved == JAVASCRIPT_MOVED_FROM || !old)
		return javascript_guess_caller(state);
	unwind->return_address = old;
	unwind->moved = JAVASCRIPT_MOVED_FROM;
	return UNWIND_OK;
}

/*
 * Handles the native frame that was added last if it is a builtin's without a rule. Where that can be done as for one with a
 * rule, or by a look-up, the next step does it.
 */
static __always_inline enum unwind_error javascript_step_ruleless(struct unwind_state *state)
{
	bool is_leaf = state->registers_known && !(state->frame_flags & FRAME_RETURN_ADDRESS);
	__u32 builtin_class;

	state->pending_fp = state->fp_known ? state->fp : 0;
	set_pending_frame(state, state->left_executable, state->sp);
	if (state->wait != WAIT_FRAMES || state->language != FRAME_JAVASCRIPT) {
		state->language = FRAME_NONE;
		state->guess_for = UNWIND_NO_INFO;
		return UNWIND_OK;
	}
	if (!javascript_load_process(state) || !state->pending_fp)
		return javascript_guess_caller(state);
	builtin_class = javascript_builtin_class(&state->javascript,
						 frame_address(state->pending_words[0]));
	if (builtin_class == JAVASCRIPT_BUILTIN_DEOPTIMIZER)
		return javascript_guess_caller(state);
	if (!is_leaf || builtin_class == JAVASCRIPT_BUILTIN_LEAVE)
		return UNWIND_OK;
	if (javascript_may_move(state, builtin_class))
		return UNWIND_OK;
	if (state->pending_fp < state->sp)
		return javascript_guess_caller(state);
	/* It has a frame: no path from the builtin's beginning leads to the instruction, but one behind a call does. */
	state->sp = state->pending_fp + 16;
	return UNWIND_OK;
}

/*
 * Sets unwind->check: whether V8's code is at state->pc or, if a leaf moves it, at unwind->return_address. Only this
 * function searches for code: the verifier goes through the search once for each call of it.
 */
static __always_inline void javascript_look_up(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 builtins = unwind->builtins, address;

	address = state->pc - (state->frame_flags & FRAME_RETURN_ADDRESS);
	if (unwind->moved) {
		builtins = state->registers[PC_REGISTER] - frame_address(state->pending_words[0]) +
			   unwind->process.builtins_start;
		address = unwind->return_address - 1;
	}
	unwind->is_in_builtins = address - builtins < unwind->process.builtins_bytes;
	unwind->check = unwind->is_in_builtins || javascript_find_code(unwind, address);
	barrier();
}

/** Steps from the current frame to its caller, and adds the frames of functions. */
static __always_inline enum unwind_error javascript_step(struct unwind_state *state)
{
	if (state->wait == WAIT_LEAVE)
		return javascript_step_ruleless(state);
	if (!javascript_load_process(state)) {
		if (state->wait == WAIT_CODE)
			decline_code(state);
		return state->wait == WAIT_CODE ? UNWIND_OK : release_frame(state);
	}
	if (state->wait != WAIT_CODE && !state->javascript.moved)
		return javascript_step_builtin(state);
	javascript_look_up(state);
	return state->javascript.moved ? javascript_step_moved(state) : javascript_step_code(state);
}

#endif
