/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Where native frames and those of interpreted functions meet (abi/runtime.h). A native frame of
 * an interpreter's loop is held back once it has been stepped out of; the language's steps add the
 * frames that it runs, which come before it, and then let it go.
 *
 * A language's step comes in four ways (enum language_wait): by hold_frame(), by wait_at_frame(), by wait_for_code(), and
 * by wait_at_stack_start().
 */
#ifndef EBPF_LANGUAGES_BPF_H
#define EBPF_LANGUAGES_BPF_H

#include "ebpf/abi/runtime.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/** The most steps that any language has in a walk, native ones included. */
	LANGUAGE_STEPS_MAX = 3 * USER_FRAMES_MAX,
};

/** The row of the first runtime of @language that the process has; NULL if it has none. */
static __always_inline const struct cell *find_language(const struct walk_state *state,
							__u32 language)
{
	for (int i = 0; i < RUNTIMES_MAX; i++) {
		const struct cell *row = cell_at(state->runtime_cell + i);

		if (!row || !row->words[0])
			return NULL;
		if ((__u8)row->words[1] == language)
			return row;
	}
	return NULL;
}

/** A number that no two processes that ever run have in common: for what is kept from walk to walk. */
static __always_inline __u64 process_key(const struct walk_state *state)
{
	return state->record.stamp.start_time_ns + state->record.stamp.exec_id;
}

/** Copies the @count cells of a language's data from @first on; false if one is not there. */
static __always_inline bool read_cells(void *data, __u32 first, int count)
{
	for (int i = 0; i < count; i++) {
		const struct cell *cell = cell_at(first + i);

		if (!cell)
			return false;
		__builtin_memcpy((struct cell *)data + i, cell, sizeof(*cell));
	}
	return true;
}

/**
 * If @executable_id is an interpreter's of this process: takes back the native frame that was added
 * last, whose stack begins at @sp, and makes its language the next one. state->held_fp is set.
 */
static __always_inline void hold_frame(struct walk_state *state, __u64 executable_id, __u64 sp)
{
	__u32 index = state->record.word_count;

	if (index < 2 || index > TRACE_MAX_WORDS)
		return;
	for (int i = 0; i < RUNTIMES_MAX; i++) {
		const struct cell *cell = cell_at(state->runtime_cell + i);

		if (!cell || !cell->words[0])
			return;
		if (cell->words[0] != executable_id)
			continue;
		state->language = (__u8)cell->words[1];
		state->wait = WAIT_FRAMES;
		state->language_cell = cell->words[1] >> 32;
		state->held_words[0] = state->record_words[RECORD_HEADER_WORDS + index - 2];
		state->held_words[1] = state->record_words[RECORD_HEADER_WORDS + index - 1];
		state->held_sp = sp;
		state->record.word_count = index - 2;
		return;
	}
}

/**
 * The native frame that was added last is of a function of a runtime that may have gone to another stack: it has not been
 * stepped out of, but will be by the step of the language that @rule names (CFA_LANGUAGE).
 */
static __always_inline void wait_at_frame(struct walk_state *state, __u64 executable_id,
					  const struct unwind_rule *rule)
{
	state->language = (__u8)rule->cfa_addend;
	state->wait = WAIT_LEAVE;
	state->left_executable = executable_id;
	state->left_kind = rule->cfa_register;
	state->left_offset = rule->cfa_offset;
}

/**
 * True if state->pc, which lies in no file, may be code that one of the process's runtimes has made: its language's step
 * is to say so. Each is asked once.
 */
static __always_inline bool wait_for_code(struct walk_state *state)
{
	if (!state->runtime_cell)
		return false;
	if (state->declined_pc != state->pc)
		state->declined_rows = 0;
	for (__u32 i = 0; i < RUNTIMES_MAX; i++) {
		const struct cell *row = cell_at(state->runtime_cell + i);

		if (!row || !row->words[0])
			return false;
		if (i < state->declined_rows || !(row->words[1] & RUNTIME_HAS_CODE))
			continue;
		state->language = (__u8)row->words[1];
		state->language_cell = row->words[1] >> 32;
		state->wait = WAIT_CODE;
		state->asked_row = i;
		return true;
	}
	return false;
}

/** The first frame of a stack was added: the walk is over, unless a language that was met knows where it goes on. */
static __always_inline void wait_at_stack_start(struct walk_state *state)
{
	state->at_end = 1;
	if (!state->stack_language)
		return;
	state->language = state->stack_language;
	state->wait = WAIT_STACK;
}

/** By a language's step: pc is no code of the runtime that was asked. The next one is, then native steps go on. */
static __always_inline void decline_code(struct walk_state *state)
{
	state->language = FRAME_NONE;
	state->declined_pc = state->pc;
	state->declined_rows = state->asked_row + 1;
}

/** As if all runtimes had declined the code at pc. */
static __always_inline void decline_code_of_all(struct walk_state *state)
{
	state->declined_pc = state->pc;
	state->declined_rows = RUNTIMES_MAX;
}

/** True if the frames of the next language are run by a native frame that is held. */
static __always_inline bool has_held_frame(const struct walk_state *state)
{
	return state->language && state->wait == WAIT_FRAMES;
}

/** Adds the held frame: native frames come again. */
static __always_inline enum unwind_error release_frame(struct walk_state *state)
{
	state->language = FRAME_NONE;
	return push_frame(state, state->held_words[0], state->held_words[1]);
}

/**
 * Something of the runtime's own was met in the held frame, where the loop keeps it: if the frame was
 * guessed, it was so rightly.
 */
static __always_inline void prove_held_frame(struct walk_state *state)
{
	state->held_words[0] &= ~((__u64)FRAME_GUESS << FRAME_FLAGS_SHIFT);
}

/** Says with an error frame that interpreted frames are missing here. */
static __always_inline enum unwind_error push_interpreter_error(struct walk_state *state,
								enum unwind_error error)
{
	__u32 index;

	/* The count is read again: of a value that was just set the verifier loses the bound. */
	barrier();
	index = state->record.word_count;

	if (index > TRACE_MAX_WORDS - 2)
		return UNWIND_TRUNCATED;
	state->record_words[RECORD_HEADER_WORDS + index] =
		frame_word(FRAME_ERROR, error, frame_address(state->held_words[0]));
	state->record.word_count = index + 1;
	state->interpreter_error = error;
	return UNWIND_OK;
}

/** The thread's own pointer, 0 if there is none. */
static __always_inline __u64 follow_thread_path(__u64 thread_pointer,
						const struct thread_local_path *path)
{
	__u64 address = thread_pointer;

	if (!path->depth)
		return 0;
	for (__u32 i = 0; i < THREAD_LOCAL_MAX_DEPTH && i < path->depth; i++)
		if (read_word(address + path->offsets[i], &address) || !address)
			return 0;
	return address;
}

/** True if frames of another language than @language are next, or of any for FRAME_NONE. */
static __always_inline bool is_other_language(const struct walk_state *state, __u32 language)
{
	return state->language && state->language != language;
}

/** True if the walk is over: behind the last native step a language's frames may be to come. */
static __always_inline bool is_walk_over(const struct walk_state *state)
{
	return state->error || (state->at_end && !state->language);
}

#endif
