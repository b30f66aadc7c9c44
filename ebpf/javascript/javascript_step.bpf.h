/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * javascript_step(): from one frame of V8's code to its caller. Two kinds of code are V8's: builtins, which lie in the
 * file and have rows as other native code, so that their frames are held; and code that V8 has made. All keep a frame
 * pointer while they call something; what a frame is follows from the code that its pc lies in, and of frames of V8
 * itself from the type that they have in place of a context. Source: execution/frames.cc (ComputeType),
 * execution/frame-constants.h, builtins/x64/builtins-x64.cc @ V8 9.4 to 14.6.
 *
 * Nothing of the process is trusted: each step goes up the stack, or ends the walk.
 */
#ifndef EBPF_JAVASCRIPT_STEP_BPF_H
#define EBPF_JAVASCRIPT_STEP_BPF_H

#include "ebpf/javascript/javascript_machine.bpf.h"

enum {
	JAVASCRIPT_STEPS_MAX = LANGUAGE_STEPS_MAX,
	JAVASCRIPT_FRAME_MAX_BYTES = 8 << 20,
	/* The first bytecodes are prefixes. The handlers of others with one stand in tables behind those without. */
	JAVASCRIPT_PREFIXES = 2,
	JAVASCRIPT_HANDLERS = 256,
	/* No handler is larger. */
	JAVASCRIPT_HANDLER_MAX_BYTES = 1 << 13,
	/* Words in a handler's frame that may be the offset. */
	JAVASCRIPT_SPILLED_MAX = 10,
};

static __always_inline bool javascript_is_marker(__u64 context, __u64 marker)
{
	return marker && context == marker;
}

/* A context, as functions have it, and no type of a frame. */
static __always_inline bool javascript_is_context(__u64 context)
{
	return context & JAVASCRIPT_TAG;
}

/* To where walk->return_address, caller_sp and caller_fp say. */
static __always_inline enum unwind_error
javascript_go_on(struct walk_state *state, const struct javascript_walk *walk, __u64 sp)
{
	if (walk->caller_sp <= sp || walk->caller_sp - sp > JAVASCRIPT_FRAME_MAX_BYTES)
		return UNWIND_NO_PROGRESS;
	state->pc = code_address(walk->return_address);
	state->sp = walk->caller_sp;
	state->fp = walk->caller_fp;
	state->fp_known = 1;
	state->sp_known = 1;
	state->frame_flags = FRAME_RETURN_ADDRESS;
	state->registers_known = 0;
	state->rbx_place = RBX_NOWHERE;
	return UNWIND_OK;
}

/* Reads what all frames have, of the one with frame pointer @fp: walk->context, and its caller. */
static __always_inline enum unwind_error javascript_read_frame(struct walk_state *state, __u64 fp)
{
	struct javascript_walk *walk = &state->javascript;

	if (window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_CONTEXT, &walk->context) ||
	    window_read_up(&state->stack, fp, &walk->caller_fp) ||
	    window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_RETURN, &walk->return_address))
		return UNWIND_STACK_UNREADABLE;
	walk->caller_sp = fp + 16;
	return UNWIND_OK;
}

/* Adds the frame of the function whose SharedFunctionInfo is at walk->shared, with walk->fingerprint. */
static __always_inline enum unwind_error javascript_push(struct walk_state *state, __u32 flags,
							 __u64 object, __u32 code, __u64 place)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 position;
	enum unwind_error error;

	if (place > JAVASCRIPT_NO_PLACE)
		place = JAVASCRIPT_NO_PLACE;
	position = code << JAVASCRIPT_CODE_SHIFT | place;
	/* The count is read again: of a value that was just set the verifier loses the bound. */
	barrier();
	error = push_frame(state, frame_word(FRAME_JAVASCRIPT, flags, object),
			   position << 32 | walk->fingerprint);
	barrier();
	walk->function_end = state->record.word_count;
	return error;
}

/* Reads the JSFunction at tagged @object: its map, which is returned, and walk->shared; 0: there is none. */
static __always_inline __u64 javascript_read_function(struct javascript_walk *walk, __u64 object)
{
	__u64 words[JAVASCRIPT_FUNCTION_BYTES / 8];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)(object - JAVASCRIPT_TAG)))
		return 0;
	__builtin_memcpy(walk->head, words, sizeof(words));
	walk->shared = javascript_head_field(walk, walk->process.function_shared, 8);
	return words[0];
}

/* The same of the JSFunction that was read last. */
static __always_inline enum unwind_error
javascript_push_function(struct walk_state *state, __u32 flags, __u32 code, __u64 place)
{
	struct javascript_walk *walk = &state->javascript;

	if (!javascript_find_fingerprint(walk))
		return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	return javascript_push(state, flags, walk->shared, code, place);
}

/* The function that was added last, if nothing has come since, was called by `new`. */
static __always_inline void javascript_mark_new(struct walk_state *state)
{
	__u32 index = state->record.word_count;

	if (index < 2 || index > TRACE_MAX_WORDS || index != state->javascript.function_end)
		return;
	state->record_words[RECORD_HEADER_WORDS + index - 1] |= (__u64)JAVASCRIPT_NEW << 32;
}

/* Where the frame with frame pointer @fp has the bytecode that it executes. */
static __always_inline __u32 javascript_bytecode(struct walk_state *state, __u64 fp, __u32 *code)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 slot = 0, offset = walk->bytecode_offset;

	*code = walk->is_before ? JAVASCRIPT_INTERPRETED_BEFORE : JAVASCRIPT_INTERPRETED;
	if (!offset && !window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_OFFSET, &slot))
		offset = slot >> 32;
	walk->bytecode_offset = 0;
	walk->is_before = 0;
	if (offset < walk->process.bytecodes_before)
		return JAVASCRIPT_NO_PLACE;
	return offset - walk->process.bytecodes_before;
}

/* True if @pc lies in the handler that the table at @place has. */
static __always_inline bool javascript_is_in_handler(__u64 pc, __u64 place)
{
	__u64 handler = 0;

	return !read_word(place, &handler) && pc - handler < JAVASCRIPT_HANDLER_MAX_BYTES;
}

/*
 * True if the bytecode at @offset, as registers have it, is one that the handler at @pc is for; with a prefix its
 * offset is that of what stands behind it. @bytecodes: tagged; @table: of handlers.
 */
static __always_inline bool javascript_is_executed(const struct javascript_walk *walk, __u64 pc,
						   __u64 bytecodes, __u64 table, __u64 offset)
{
	/* What may be a prefix, and the bytecode. */
	__u8 codes[2] = { 0 };

	if (offset < walk->process.bytecodes_before || offset > JAVASCRIPT_PLACE_MASK ||
	    bpf_probe_read_user(codes, sizeof(codes), (const void *)(bytecodes + offset - 1)))
		return false;
	table += 8ULL * codes[1];
	return javascript_is_in_handler(pc, table) ||
	       (codes[0] < JAVASCRIPT_PREFIXES &&
		javascript_is_in_handler(pc, table + 8 * JAVASCRIPT_HANDLERS * (1ULL + codes[0])));
}

/*
 * True if @offset lies in @bytecodes. A handler without a frame has nothing else in the register, nor has one that has
 * the bytecodes in theirs: at its end that of the next bytecode, of which it does some itself
 * (interpreter-assembler.cc, StarDispatchLookahead).
 */
static __always_inline bool javascript_is_offset(const struct javascript_walk *walk,
						 __u64 bytecodes, __u64 offset)
{
	__u64 length = 0;

	return !read_word(bytecodes - JAVASCRIPT_TAG + JAVASCRIPT_ARRAY_LENGTH, &length) &&
	       offset - walk->process.bytecodes_before < length >> 32;
}

/*
 * The leaf, a handler, executes a bytecode of the interpreted frame with frame pointer @fp. Its offset is in a register
 * until the handler puts something else there; by then it has kept it in that frame's slot, as for a call, or in its
 * own frame at @handler_fp, 0: it has none.
 */
static __always_inline void javascript_find_bytecode(struct walk_state *state, __u64 fp,
						     __u64 handler_fp)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 pc = state->registers[PC_REGISTER], bytecodes = 0, table = 0;
	__u64 offset = state->registers[JAVASCRIPT_OFFSET_REGISTER];

	walk->is_before = 1;
	if (read_word(fp + JAVASCRIPT_SLOT_BYTECODES, &bytecodes) ||
	    read_word(state->registers[JAVASCRIPT_ROOT_REGISTER] + walk->process.dispatch_table,
		      &table))
		return;
	walk->check =
		javascript_is_executed(walk, pc, bytecodes, table, offset) ||
		((!handler_fp || state->registers[JAVASCRIPT_BYTECODES_REGISTER] == bytecodes) &&
		 javascript_is_offset(walk, bytecodes, offset));
	if (!walk->check && !read_word(fp + JAVASCRIPT_SLOT_OFFSET, &offset)) {
		offset >>= 32;
		walk->check = javascript_is_executed(walk, pc, bytecodes, table, offset);
	}
	for (int i = 0; handler_fp && !walk->check && i < JAVASCRIPT_SPILLED_MAX; i++) {
		if (read_word(handler_fp + JAVASCRIPT_SLOT_SPILLED - 8 * i, &offset))
			return;
		walk->check = javascript_is_executed(walk, pc, bytecodes, table, offset);
	}
	if (!walk->check)
		return;
	walk->bytecode_offset = offset;
	walk->is_before = 0;
}

static __always_inline bool javascript_is_continuation(const struct javascript_walk *walk)
{
	return javascript_is_marker(walk->context, walk->process.marker_continuation) ||
	       javascript_is_marker(walk->context, walk->process.marker_continuation_with_catch);
}

/* Native frames come again, of which @is_shown is the one that was held. */
static __always_inline enum unwind_error javascript_release(struct walk_state *state, bool is_shown)
{
	if (is_shown)
		return release_frame(state);
	state->language = FRAME_NONE;
	return UNWIND_OK;
}

/* True if walk->shared is the SharedFunctionInfo of a function that was met before. */
static __always_inline bool javascript_is_known_function(const struct javascript_walk *walk)
{
	const struct javascript_kept_function *kept =
		&walk->kept_functions[javascript_kept_index(walk->shared)];

	return kept->process_key == walk->process_key && kept->shared == walk->shared;
}

/* True if objects with the map at tagged @map are functions. */
static __always_inline bool javascript_is_function_map(struct javascript_walk *walk, __u64 map)
{
	__u32 index = map / 8;
	__u16 type = 0;

	/* The verifier has to see that it is in range, which the compiler may think that it knows. */
	barrier_var(index);
	index %= JAVASCRIPT_MAPS_COUNT;
	if (map && walk->function_maps[index] == map)
		return true;
	if (bpf_probe_read_user(
		    &type, sizeof(type),
		    (const void *)(map - JAVASCRIPT_TAG + walk->process.map_instance_type)) ||
	    (__u16)(type - walk->process.type_function) >= walk->process.type_function_count)
		return false;
	walk->function_maps[index] = map;
	return true;
}

/*
 * True if the object at tagged @object is a JSFunction; then it is the one that was read last. While the collector moves
 * it, its first word says where to; all others are as they were. V8 writes that word before it copies anything to the
 * new object (heap/scavenger-inl.h, MigrateObject).
 */
static __always_inline bool javascript_is_function(struct javascript_walk *walk, __u64 object)
{
	__u64 map = javascript_read_function(walk, object);
	bool is_moved = map && !(map & JAVASCRIPT_TAG);

	if (!map || (is_moved && read_word(map, &map)))
		return false;
	return javascript_is_function_map(walk, map) ||
	       (is_moved && javascript_is_known_function(walk));
}

/* The held frame of a leaf is not made yet, or not there any more. */
static __always_inline enum unwind_error javascript_leave_frameless(struct walk_state *state,
								    __u32 builtin_class)
{
	struct javascript_walk *walk = &state->javascript;

	/* Handlers go from one to the next without a call: what they return to is the interpreter. */
	walk->is_behind_leaf = 1;
	if (builtin_class == JAVASCRIPT_BUILTIN_HANDLER) {
		if (state->fp_known)
			javascript_find_bytecode(state, state->fp, 0);
		return javascript_release(state, false);
	}
	walk->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	/* At the end the register has whatever was left there, which may be a function that was called. */
	if (builtin_class != JAVASCRIPT_BUILTIN_INTERPRETER ||
	    javascript_is_interpreter_end(state->registers[PC_REGISTER]) ||
	    !javascript_is_function(walk, walk->function))
		return javascript_release(state, true);
	state->language = FRAME_NONE;
	return javascript_push_function(state, 0, JAVASCRIPT_INTERPRETED, JAVASCRIPT_NO_PLACE);
}

/* Adds the frame of a function that has walk->context and the frame pointer @fp, in a builtin, or lets the held one go. */
static __always_inline enum unwind_error javascript_push_in_builtin(struct walk_state *state,
								    __u32 builtin_class, __u64 fp)
{
	struct javascript_walk *walk = &state->javascript;
	__u32 flags = frame_flags(state->held_words[0]) & FRAME_RETURN_ADDRESS;
	__u64 place = frame_address(state->held_words[0]) - walk->process.builtins_start;
	__u32 code = JAVASCRIPT_BUILTIN;

	if (javascript_is_marker(walk->context, walk->process.marker_construct) ||
	    javascript_is_marker(walk->context, walk->process.marker_fast_construct))
		javascript_mark_new(state);
	if (builtin_class == JAVASCRIPT_BUILTIN_HANDLER) {
		if (!flags)
			javascript_find_bytecode(state, walk->caller_fp, fp);
		return javascript_release(state, false);
	}
	if (builtin_class == JAVASCRIPT_BUILTIN_NO_FUNCTION ||
	    (!javascript_is_context(walk->context) && !javascript_is_continuation(walk)))
		return javascript_release(state, true);
	/* What a leaf has not pushed yet is in the registers. */
	if (!flags && fp + JAVASCRIPT_SLOT_FUNCTION < state->held_sp)
		walk->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	else if (window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_FUNCTION, &walk->function))
		return UNWIND_STACK_UNREADABLE;
	if (builtin_class == JAVASCRIPT_BUILTIN_INTERPRETER)
		place = javascript_bytecode(state, fp, &code);
	if (!javascript_is_function(walk, walk->function))
		return javascript_release(state, true);
	state->language = FRAME_NONE;
	return javascript_push_function(state, flags, code, place);
}

/* Reads where the leaf at @place of its code goes back to, and its walk->function. */
static __always_inline enum unwind_error javascript_read_leaf(struct walk_state *state,
							      enum javascript_place place)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 bytes = 8;

	walk->caller_fp = state->fp;
	walk->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	/* Until it has one a function is as good as in its context. */
	walk->context = JAVASCRIPT_TAG;
	if (place == JAVASCRIPT_AT_SAVED_FP || place == JAVASCRIPT_BELOW_CALL) {
		if (place == JAVASCRIPT_AT_SAVED_FP &&
		    window_read_up(&state->stack, state->sp, &walk->caller_fp))
			return UNWIND_STACK_UNREADABLE;
		bytes = 16;
	}
	walk->caller_sp = state->sp + bytes;
	if (place >= JAVASCRIPT_RETURN_IN_R8) {
		walk->return_address = state->registers[place == JAVASCRIPT_RETURN_IN_R8 ? 8 :
							place == JAVASCRIPT_RETURN_IN_R9 ? 9 :
											   10];
		return UNWIND_OK;
	}
	return window_read_up(&state->stack, walk->caller_sp - 8, &walk->return_address);
}

/* The same of a frame that is made, of which a leaf may have to push something yet. */
static __always_inline enum unwind_error javascript_read_made(struct walk_state *state,
							      bool is_leaf)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 place = state->fp + JAVASCRIPT_SLOT_FUNCTION;
	enum unwind_error error;

	if (!state->fp_known)
		return UNWIND_REGISTER_UNKNOWN;
	walk->function = state->registers[JAVASCRIPT_FUNCTION_REGISTER];
	if ((!is_leaf || place >= state->sp) &&
	    window_read_up(&state->stack, place, &walk->function))
		return UNWIND_STACK_UNREADABLE;
	error = javascript_read_frame(state, state->fp);
	if (is_leaf && place + 8 < state->sp)
		walk->context = JAVASCRIPT_TAG;
	return error;
}

/*
 * The held frame is that of a leaf in a builtin that makes or leaves the frame of a function in Sparkplug's code: its rows
 * take it for one that has been called.
 */
static __always_inline enum unwind_error javascript_step_frame_builtin(struct walk_state *state,
								       __u32 builtin_class)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 pc = state->registers[PC_REGISTER], sp = state->held_sp, function = 0;
	enum javascript_place place = builtin_class == JAVASCRIPT_BUILTIN_PROLOGUE ?
					      javascript_prologue_place(walk, pc) :
					      javascript_leave_place(pc, sp, &function);
	enum unwind_error error;

	state->sp = sp;
	state->fp = state->held_fp;
	state->fp_known = state->held_fp != 0;
	/* Through memory all ways that lead to a place are one to the verifier. */
	walk->check = place;
	barrier();
	place = walk->check;
	error = place == JAVASCRIPT_IN_FRAME ? javascript_read_made(state, true) :
					       javascript_read_leaf(state, place);
	if (!error && builtin_class == JAVASCRIPT_BUILTIN_LEAVE && place != JAVASCRIPT_IN_FRAME &&
	    (!function || read_word(function, &walk->function)))
		walk->function = 0;
	if (!error)
		error = javascript_go_on(state, walk, sp);
	if (error)
		return error;
	prove_held_frame(state);
	if (!javascript_is_context(walk->context) || !javascript_is_function(walk, walk->function))
		return javascript_release(state, true);
	state->language = FRAME_NONE;
	return javascript_push_function(state, 0, JAVASCRIPT_INTERPRETED, JAVASCRIPT_NO_PLACE);
}

/*
 * The held frame is a builtin's, and its rows have told the caller. They may be a guess, or wrong; but a builtin that
 * has called something has a frame pointer. It was no guess itself if the leaf before is a builtin.
 */
static __always_inline enum unwind_error javascript_step_builtin(struct walk_state *state)
{
	struct javascript_walk *walk = &state->javascript;
	bool is_leaf = !(frame_flags(state->held_words[0]) & FRAME_RETURN_ADDRESS);
	__u32 builtin_class = javascript_builtin_class(walk, frame_address(state->held_words[0]));
	__u64 fp = state->held_fp;
	enum unwind_error error;

	if (is_leaf && (builtin_class == JAVASCRIPT_BUILTIN_PROLOGUE ||
			builtin_class == JAVASCRIPT_BUILTIN_LEAVE))
		return javascript_step_frame_builtin(state, builtin_class);
	if (is_leaf && state->sp != fp + 16)
		return javascript_leave_frameless(state, builtin_class);
	if (!fp)
		return javascript_release(state, true);
	error = javascript_read_frame(state, fp);
	if (!error)
		error = javascript_go_on(state, walk, state->held_sp);
	if (error)
		return error;
	if (javascript_is_marker(walk->context, walk->process.marker_entry) ||
	    javascript_is_marker(walk->context, walk->process.marker_construct_entry))
		state->rbx_place = fp + JAVASCRIPT_SLOT_RBX;
	prove_held_frame(state);
	return javascript_push_in_builtin(state, builtin_class, fp);
}

/* Adds the frame of the code that was found last, which is a function's. */
static __always_inline enum unwind_error javascript_push_code(struct walk_state *state)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 place = state->pc - walk->code_start;
	__u64 address = state->pc - (state->frame_flags & FRAME_RETURN_ADDRESS);

	if (walk->kind == walk->process.kind_baseline) {
		if (!javascript_read_function(walk, walk->function))
			return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
		return javascript_push_function(state, state->frame_flags, JAVASCRIPT_BASELINE,
						place);
	}
	if (!javascript_find_code_fingerprint(walk, address))
		return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	return javascript_push(state, state->frame_flags, walk->code, JAVASCRIPT_OPTIMIZED, place);
}

/* Adds the frame of code of no function; nothing of V8's own stubs. */
static __always_inline enum unwind_error javascript_push_other(struct walk_state *state, __u32 code)
{
	state->javascript.fingerprint = 0;
	return javascript_push(state, state->frame_flags, state->pc, code, 0);
}

static __always_inline bool javascript_is_function_code(const struct javascript_walk *walk)
{
	return walk->kind == walk->process.kind_baseline ||
	       walk->kind == walk->process.kind_maglev || walk->kind == walk->process.kind_turbofan;
}

/* In the code that was found last. */
static __always_inline enum unwind_error javascript_leave_code(struct walk_state *state)
{
	struct javascript_walk *walk = &state->javascript;
	bool is_leaf = state->registers_known && !(state->frame_flags & FRAME_RETURN_ADDRESS);
	bool is_baseline = walk->kind == walk->process.kind_baseline;
	enum javascript_place place = JAVASCRIPT_IN_FRAME;
	enum unwind_error error;

	if (is_leaf)
		place = javascript_leaf_place(walk, state->pc, is_baseline);
	/* Through memory all ways that lead to a place are one to the verifier. */
	walk->check = place;
	barrier();
	place = walk->check;
	error = place == JAVASCRIPT_IN_FRAME ? javascript_read_made(state, is_leaf) :
					       javascript_read_leaf(state, place);
	if (error)
		return error;
	if (javascript_is_function_code(walk) && javascript_is_context(walk->context))
		return javascript_push_code(state);
	if (walk->kind == walk->process.kind_regexp)
		return javascript_push_other(state, JAVASCRIPT_REGEXP);
	return UNWIND_OK;
}

/* Code at state->pc, which lies in no file. */
static __always_inline enum unwind_error javascript_step_code(struct walk_state *state)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 address = state->pc - (state->frame_flags & FRAME_RETURN_ADDRESS);
	enum unwind_error error;

	walk->check = javascript_find_code(walk, address);
	barrier();
	/* What the rows of a builtin have led to is V8's own. */
	if (walk->check && walk->is_behind_leaf)
		state->frame_flags &= ~(__u32)FRAME_GUESS;
	walk->is_behind_leaf = 0;
	if (walk->check) {
		error = javascript_leave_code(state);
	} else if (state->fp_known && !javascript_read_frame(state, state->fp) &&
		   javascript_is_marker(walk->context, walk->process.marker_wasm)) {
		error = javascript_push_other(state, JAVASCRIPT_WASM);
	} else {
		decline_code(state);
		return UNWIND_OK;
	}
	state->error = error;
	barrier();
	error = state->error;
	state->language = FRAME_NONE;
	return error ? error : javascript_go_on(state, walk, state->sp);
}

/* The held frame is shown, and its caller remains to be guessed. */
static __always_inline enum unwind_error javascript_guess_caller(struct walk_state *state)
{
	state->guess_for = UNWIND_NO_INFO;
	return javascript_release(state, true);
}

/*
 * True if @address, where something may return to, lies in a builtin or in code that V8 has made. The leaf at @pc is in the
 * builtin that is held.
 */
static __always_inline bool javascript_is_in_v8(struct walk_state *state, __u64 pc, __u64 address)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 builtins = pc - frame_address(state->held_words[0]) + walk->process.builtins_start;

	return address - 1 - builtins < walk->process.builtins_bytes ||
	       javascript_find_code(walk, address - 1);
}

/*
 * The held frame is a leaf's in a builtin whose rows are not known, because it moves the arguments of a call, and the
 * return address with them: that is where it was, in r8, or where it will be.
 */
static __always_inline enum unwind_error javascript_leave_moving(struct walk_state *state)
{
	struct javascript_walk *walk = &state->javascript;
	__u64 pc = state->registers[PC_REGISTER], address = 0;
	enum unwind_error error;

	walk->check = !read_word(state->sp, &address) && javascript_is_in_v8(state, pc, address);
	if (!walk->check)
		walk->check = !read_word(state->registers[JAVASCRIPT_MOVED_REGISTER], &address) &&
			      javascript_is_in_v8(state, pc, address);
	barrier();
	if (!walk->check)
		return javascript_guess_caller(state);
	walk->is_behind_leaf = 1;
	walk->return_address = address;
	walk->caller_sp = state->sp + 8;
	walk->caller_fp = state->fp;
	prove_held_frame(state);
	error = javascript_go_on(state, walk, state->sp);
	return error ? error : javascript_release(state, true);
}

/* The native frame that was added last is a builtin's, and no rule tells its caller. */
static __always_inline enum unwind_error javascript_step_ruleless(struct walk_state *state)
{
	bool is_leaf = state->registers_known && !(state->frame_flags & FRAME_RETURN_ADDRESS);
	__u32 builtin_class;

	state->held_fp = state->fp_known ? state->fp : 0;
	hold_frame(state, state->left_executable, state->sp);
	if (state->wait != WAIT_FRAMES || state->language != FRAME_JAVASCRIPT) {
		state->language = FRAME_NONE;
		state->guess_for = UNWIND_NO_INFO;
		return UNWIND_OK;
	}
	if (!javascript_load_process(state) || !state->held_fp)
		return javascript_guess_caller(state);
	builtin_class =
		javascript_builtin_class(&state->javascript, frame_address(state->held_words[0]));
	if (builtin_class == JAVASCRIPT_BUILTIN_DEOPTIMIZER)
		return javascript_guess_caller(state);
	if (is_leaf && builtin_class != JAVASCRIPT_BUILTIN_LEAVE)
		return javascript_leave_moving(state);
	return javascript_step_builtin(state);
}

/** From the frame at hand to its caller; adds what functions have it. */
static __always_inline enum unwind_error javascript_step(struct walk_state *state)
{
	if (state->wait == WAIT_LEAVE)
		return javascript_step_ruleless(state);
	if (!javascript_load_process(state)) {
		if (state->wait == WAIT_CODE)
			decline_code(state);
		return state->wait == WAIT_CODE ? UNWIND_OK : release_frame(state);
	}
	return state->wait == WAIT_CODE ? javascript_step_code(state) :
					  javascript_step_builtin(state);
}

#endif
