/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * python_step(): adds the frames of CPython's functions that the pending native frame runs
 * (languages.bpf.h), one in each call, and at last that native frame. abi/python.h describes how
 * frames are linked in each version, and how they are assigned to native frames.
 *
 * Frames are assigned to a native frame by the stack address of a structure that the eval loop has
 * there. So a native frame that has just been entered or is about to be left gets no frames, and if the
 * unwind missed a native frame, the next one does not lose frames to it. Only frame objects (up to 3.9)
 * have no such structure: each native frame has one frame object, except in code before or behind its
 * use (unpushed), and with several interpreters it is searched (python_look.bpf.h).
 *
 * No pointer of the process is trusted: memory that cannot be read ends the chain with an error frame,
 * and a cycle of frames ends when the record is full. All reads go to the BPF stack first, then to the
 * state, where offsets need not be constants.
 */
#ifndef EBPF_PYTHON_STEP_BPF_H
#define EBPF_PYTHON_STEP_BPF_H

#include "ebpf/abi/python.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/python/python_look.bpf.h"
#include "ebpf/python/python_threads.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/* Includes native steps; more than frames fit, since those of a native frame may be unwound twice. */
	PYTHON_STEPS_MAX = 3 * USER_FRAMES_MAX,
	PYTHON_PROCESS_CELLS = sizeof(struct python_process) / CELL_BYTES,
	/* Limit of the threads with bytecode of their own. */
	PYTHON_MAX_BYTECODES = 1 << 16,
};

/* True if frames are adjacent, in chunks of their own: from 3.11 on. */
static __always_inline bool has_frame_chunks(const struct python_process *process)
{
	return process->chain == PYTHON_CFRAME || process->chain == PYTHON_CURRENT_FRAME;
}

/* Returns a word of the code object that was read last; any @offset is safe, as in python_word(). */
static __always_inline __u64 python_code_word(const struct python_unwind *unwind, __u32 offset)
{
	return unwind->code[offset / 8 % (PYTHON_READ_MAX_BYTES / 8)];
}

/* Reads the frame at @address into unwind->frames. */
static __always_inline bool python_read_frame(struct python_unwind *unwind, __u64 address)
{
	__u32 bytes = unwind->process.frame_bytes;

	address += unwind->process.frame_start;
	return has_frame_chunks(&unwind->process) ?
		       window_read_down(&unwind->frames, address, bytes) :
		       window_read_exactly(&unwind->frames, address, bytes);
}

/* Returns a word of the frames in the window. Offsets come from user space: any is safe, since it is wrapped and aligned. */
static __always_inline __u64 python_word(const struct python_unwind *unwind, __u64 offset)
{
	return window_word(&unwind->frames, offset);
}

static __always_inline __u32 python_half_word(const struct python_unwind *unwind, __u64 offset)
{
	return window_word(&unwind->frames, offset) >> (offset % 8 / 4 * 32);
}

static __always_inline __u8 python_byte(const struct python_unwind *unwind, __u64 offset)
{
	return window_word(&unwind->frames, offset) >> (offset % 8 * 8);
}

/* Loads the data of the process, and the beginning of this thread's chains. */
static __always_inline enum unwind_error python_begin(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	struct python_process *process = &unwind->process;
	__u64 thread;

	unwind->cell = state->language_cell;
	unwind->is_lost = 1;
	unwind->in_frames = 0;
	unwind->frame = 0;
	unwind->cframe = 0;
	unwind->cframe_depth = 0;
	for (int i = 0; i < PYTHON_CHAINS_MAX; i++)
		unwind->chains[i].frame = 0;
	window_clear(&unwind->frames);
	for (int i = 0; i < PYTHON_KNOWN_CODES; i++)
		unwind->known_codes[i] = (struct python_known_code){ 0 };
	unwind->chain_count = 1;
	unwind->chain = 0;
	unwind->tried = 0;
	unwind->has_more = 0;
	unwind->looking = 0;
	unwind->is_first = 1;
	unwind->stack_low = state->registers[SP_REGISTER];
	if (!read_cells(process, state->language_cell, PYTHON_PROCESS_CELLS))
		return UNWIND_INTERPRETER_THREAD;
	thread = follow_thread_path(state->thread_pointer, &process->thread_state[0]);
	if (!thread)
		thread = follow_thread_path(state->thread_pointer, &process->thread_state[1]);
	if (thread ? !python_take_thread(unwind, thread) :
		     !python_search_own(unwind, state->thread_pointer))
		return UNWIND_INTERPRETER_THREAD;
	unwind->is_lost = 0;
	return UNWIND_OK;
}

/* Ends the frames of the pending frame, which has no more, and releases it. */
static __always_inline enum unwind_error python_leave(struct unwind_state *state)
{
	state->python.in_frames = 0;
	state->python.tried = 0;
	/* The count of words is read again, since the verifier loses the bound of a value that was just set. */
	barrier();
	return release_frame(state);
}

static __always_inline enum unwind_error python_lose(struct unwind_state *state,
						     enum unwind_error missing)
{
	enum unwind_error error = push_interpreter_error(state, missing);

	state->python.is_lost = 1;
	return error ? error : python_leave(state);
}

/*
 * Handles a pending frame for which the current chain has no frames: tries another thread state's chain,
 * else releases the frame.
 */
static __always_inline enum unwind_error python_miss(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	enum unwind_error error = UNWIND_OK;

	unwind->in_frames = 0;
	if (unwind->search == PYTHON_SEARCH_NOT_YET) {
		python_search_begin(unwind);
		return UNWIND_OK;
	}
	python_next_chain(unwind);
	if (++unwind->tried < unwind->chain_count)
		return UNWIND_OK;
	if (unwind->has_more && frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS)
		error = push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	return error ? error : python_leave(state);
}

/* True if the pending frame is at an address where its function's frame is not in the chain. */
static __always_inline bool python_is_unpushed(const struct unwind_state *state)
{
	const struct python_process *process = &state->python.process;
	__u64 word = state->pending_words[0];
	__u64 address = frame_address(word) - (frame_flags(word) & FRAME_RETURN_ADDRESS);

	for (int i = 0; i < PYTHON_MAX_RANGES; i++) {
		__u32 start = process->unpushed[i].start, end = process->unpushed[i].end;

		if (!end)
			return false;
		if (address - start < (__u64)end - start)
			return true;
	}
	return false;
}

/* True if @address is in the pending frame's stack range. */
static __always_inline bool python_is_in_pending(const struct unwind_state *state, __u64 address)
{
	return address - state->pending_sp < state->sp - state->pending_sp;
}

/* Advances to the next cframe. */
static __always_inline void python_next_cframe(struct python_unwind *unwind)
{
	unwind->cframe = unwind->next_cframe;
}

/*
 * Releases a leaf whose cframe is set, but not filled yet. The next cframe is found by its address: it
 * has the same distance from its caller as the leaf's.
 */
static __always_inline enum unwind_error python_leave_unpushed_cframe(struct unwind_state *state)
{
	state->python.cframe_depth = state->sp - state->python.cframe;
	return python_leave(state);
}

/* Reads the current cframe: its first frame, and the end of its frames. */
static __always_inline enum unwind_error python_enter_cframe(struct unwind_state *state,
							     bool is_unpushed)
{
	struct python_unwind *unwind = &state->python;
	const struct python_process *process = &unwind->process;
	__u64 cframe;

	if (unwind->cframe_depth) {
		unwind->cframe = state->sp - unwind->cframe_depth;
		unwind->cframe_depth = 0;
	}
	cframe = unwind->cframe;
	if (is_unpushed && python_is_in_pending(state, cframe))
		return python_leave_unpushed_cframe(state);
	/* The cframe is a caller's, or there is none yet. One of another thread state must be in this frame's range. */
	if (cframe >= state->sp || (unwind->tried && cframe < state->pending_sp))
		return python_miss(state);
	if (read_word(cframe + process->cframe_current, &unwind->frame) ||
	    read_word(cframe + process->cframe_previous, &unwind->next_cframe))
		return python_lose(state, UNWIND_INTERPRETER_FRAMES);
	/* The last cframe is in the thread state, and runs no frames. */
	if (!unwind->next_cframe)
		return python_miss(state);
	if (read_word(unwind->next_cframe + process->cframe_current, &unwind->stop_frame))
		return python_lose(state, UNWIND_INTERPRETER_FRAMES);
	unwind->in_frames = 1;
	return UNWIND_OK;
}

/* Begins with the pending frame's frame object: that of the current chain, or, after a search, of the right chain. */
static __always_inline enum unwind_error python_enter_object(struct unwind_state *state)
{
	if (state->python.has_others)
		state->python.looking = PYTHON_LOOK_BEGINS;
	else
		state->python.in_frames = 1;
	return UNWIND_OK;
}

/* As python_enter_object(), where cframes show which chain is next (3.10). */
static __always_inline enum unwind_error python_enter_object_cframe(struct unwind_state *state,
								    bool is_unpushed)
{
	struct python_unwind *unwind = &state->python;
	const struct python_process *process = &unwind->process;

	if (python_is_in_pending(state, unwind->cframe)) {
		if (read_word(unwind->cframe + process->cframe_previous, &unwind->cframe))
			return python_lose(state, UNWIND_INTERPRETER_FRAMES);
		if (is_unpushed)
			return python_leave(state);
		unwind->in_frames = 1;
		return UNWIND_OK;
	}
	/* The loop removes the cframe before the frame, with nothing between. */
	if (!process->unpushed[0].end ||
	    frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS)
		return python_miss(state);
	if (unwind->search == PYTHON_SEARCH_NOT_YET || unwind->tried + 1 < unwind->chain_count)
		return python_miss(state);
	return is_unpushed ? python_leave(state) : python_enter_object(state);
}

/* Begins with the frames of the pending frame. */
static __always_inline enum unwind_error python_enter(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	enum unwind_error error;
	bool is_unpushed;

	if (unwind->cell != state->language_cell) {
		error = python_begin(state);
		if (error)
			return python_lose(state, error);
	}
	if (unwind->is_lost)
		return python_leave(state);
	if (unwind->search == PYTHON_SEARCH_RUNS)
		return UNWIND_OK;
	if (!unwind->thread)
		return python_lose(state, UNWIND_INTERPRETER_THREAD);
	is_unpushed = python_is_unpushed(state);
	unwind->first_frame = unwind->frame;
	unwind->first_word_count = state->record.word_count;
	switch (unwind->process.chain) {
	case PYTHON_CFRAME:
		return python_enter_cframe(state, is_unpushed);
	case PYTHON_FRAME_OBJECTS:
		return is_unpushed ? python_leave(state) : python_enter_object(state);
	case PYTHON_FRAME_OBJECTS_CFRAME:
		return python_enter_object_cframe(state, is_unpushed);
	case PYTHON_CURRENT_FRAME:
		unwind->in_frames = 1;
		return UNWIND_OK;
	default:
		return python_lose(state, UNWIND_INTERPRETER_FRAMES);
	}
}

/* Returns the address of the bytecode that the frame at @offset in the window runs. */
static __always_inline __u64 python_bytecode(const struct python_unwind *unwind, __u64 offset,
					     __u64 code)
{
	const struct python_process *process = &unwind->process;
	__u64 array, bytecode = code + process->code_bytecode;
	__u32 index;

	if (process->frame_tlbc_index == PYTHON_NO_OFFSET)
		return bytecode;
	index = python_half_word(unwind, offset + process->frame_tlbc_index);
	/* Index 0 is the code object's own. */
	if (index && index < PYTHON_MAX_BYTECODES &&
	    !read_word(code + process->code_tlbc, &array) && array)
		read_word(array + 8 + 8 * (__u64)index, &bytecode);
	return bytecode;
}

/* Computes the fingerprint of @code; 0 if it cannot be read. */
static __always_inline __u32 python_read_fingerprint(struct python_unwind *unwind, __u64 code)
{
	const struct python_process *process = &unwind->process;
	__u64 words[PYTHON_READ_MAX_BYTES / 8], chosen[PYTHON_CODE_WORDS], name_hash = 0;
	__u32 bytes = process->code_bytes;

	if (bytes < 1 || bytes > sizeof(words) ||
	    bpf_probe_read_user(words, bytes, (const void *)(code + process->code_start)))
		return 0;
	__builtin_memcpy(unwind->code, words, sizeof(words));
	for (int i = 0; i < PYTHON_CODE_WORDS; i++)
		chosen[i] = python_code_word(unwind, process->code_words[i]);
	if (process->code_name != PYTHON_NO_OFFSET &&
	    read_word(python_code_word(unwind, process->code_name) + process->name_hash,
		      &name_hash))
		return 0;
	return python_code_fingerprint(chosen, name_hash);
}

/* Returns the fingerprint of @code, cached during an unwind, since stacks repeat functions. */
static __always_inline __u32 python_fingerprint(struct python_unwind *unwind, __u64 code)
{
	__u32 index = (__u32)(code >> 4 ^ code >> 10) % PYTHON_KNOWN_CODES;
	struct python_known_code *known = &unwind->known_codes[index];

	if (known->address != code) {
		known->fingerprint = python_read_fingerprint(unwind, code);
		known->address = code;
	}
	return known->fingerprint;
}

/* Adds the frame at @offset in unwind->frames. */
static __always_inline enum unwind_error python_push(struct unwind_state *state, __u64 offset)
{
	struct python_unwind *unwind = &state->python;
	const struct python_process *process = &unwind->process;
	__u64 code = python_word(unwind, offset + process->frame_code) &
		     ~(__u64)process->code_tag_mask;
	__u64 position;

	if (code == process->hidden_code)
		return UNWIND_OK;
	if (has_frame_chunks(process))
		position = python_word(unwind, offset + process->frame_instruction) -
			   python_bytecode(unwind, offset, code);
	else
		position = python_half_word(unwind, offset + process->frame_instruction);
	return push_frame(state, frame_word(FRAME_PYTHON, 0, code),
			  position << 32 | python_fingerprint(unwind, code));
}

/*
 * Handles the eval loop's own frame at @frame, which has no function: if it is in the pending frame, all
 * frames up to here belong to that.
 */
static __always_inline enum unwind_error python_meet_loop(struct unwind_state *state, __u64 frame)
{
	struct python_unwind *unwind = &state->python;

	/*
	 * It is in a caller: the pending frame has pushed nothing yet, or has popped it, or belongs to
	 * another thread state.
	 */
	if (frame >= state->sp || (unwind->tried && frame < state->pending_sp)) {
		state->record.word_count = unwind->first_word_count;
		unwind->frame = unwind->first_frame;
		return python_miss(state);
	}
	if (frame >= state->pending_sp) {
		prove_pending_frame(state);
		return python_leave(state);
	}
	/* It is in a native frame that the unwind has missed. */
	unwind->first_frame = unwind->frame;
	unwind->first_word_count = state->record.word_count;
	return UNWIND_OK;
}

/* Leaves the current cframe, whose frames have all been added. */
static __always_inline enum unwind_error python_leave_cframe(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	bool is_done = unwind->cframe >= state->pending_sp;

	python_next_cframe(unwind);
	if (is_done)
		return python_leave(state);
	/* The cframe was in a native frame that the unwind has missed. */
	unwind->in_frames = 0;
	return UNWIND_OK;
}

/*
 * Handles a frame that cannot be read. An interrupted eval loop may have set its cframe, but not yet the
 * pointer in it to its frame: until then the pointer is stale.
 */
static __always_inline enum unwind_error python_break(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	enum unwind_error error;

	if (unwind->process.chain != PYTHON_CFRAME)
		return python_lose(state, UNWIND_INTERPRETER_FRAMES);
	if (!(frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS)) {
		state->record.word_count = unwind->first_word_count;
		return python_leave_unpushed_cframe(state);
	}
	python_next_cframe(unwind);
	error = push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	return error ? error : python_leave(state);
}

/* Adds the next frame. */
static __always_inline enum unwind_error python_frame(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	const struct python_process *process = &unwind->process;
	__u64 frame = unwind->frame, offset;
	enum unwind_error error;
	__u8 owner = 0;

	if (process->chain == PYTHON_CFRAME && frame == unwind->stop_frame)
		return python_leave_cframe(state);
	/* The thread's outermost native frame has no frame in the chain yet, or no more. */
	if (process->chain == PYTHON_CURRENT_FRAME && !frame && frame == unwind->first_frame)
		return python_miss(state);
	if (!python_read_frame(unwind, frame))
		return python_break(state);
	offset = frame + process->frame_start - unwind->frames.start;
	unwind->frame = python_word(unwind, offset + process->frame_previous);
	state->frames_are_used_up = !unwind->frame;
	if (process->frame_owner != PYTHON_NO_OFFSET)
		owner = python_byte(unwind, offset + process->frame_owner);
	if (owner >= PYTHON_OWNER_LOOP)
		return process->chain == PYTHON_CURRENT_FRAME ? python_meet_loop(state, frame) :
								UNWIND_OK;
	error = python_push(state, offset);
	if (error)
		return error;
	return has_frame_chunks(process) ? UNWIND_OK : python_leave(state);
}

/* Takes one step of the search for the pending frame's frame object, and begins with it once it is found. */
static __always_inline enum unwind_error python_look(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;

	if (unwind->looking == PYTHON_LOOK_BEGINS) {
		python_look_begin(state);
		return UNWIND_OK;
	}
	if (python_look_step(unwind))
		return UNWIND_OK;
	if (!python_look_end(state))
		return python_lose(state, UNWIND_INTERPRETER_FRAMES);
	unwind->in_frames = 1;
	return UNWIND_OK;
}

/** Takes one step while state->language is FRAME_PYTHON. */
static __always_inline enum unwind_error python_step(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;

	if (unwind->cell != state->language_cell)
		return python_enter(state);
	if (unwind->search == PYTHON_SEARCH_RUNS && !unwind->is_lost) {
		python_search_step(unwind);
		return UNWIND_OK;
	}
	if (unwind->looking)
		return python_look(state);
	return unwind->in_frames ? python_frame(state) : python_enter(state);
}

#endif
