/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The interface between native frames and frames of interpreted functions (abi/runtime.h). Once a native
 * frame of an interpreter's loop has been stepped out of, it becomes the pending frame (set_pending_frame(), pending_...).
 * The language's steps first add the frames that it runs, and then the pending frame (release_frame()).
 *
 * A language's step is entered in four ways (enum language_wait): by set_pending_frame(), wait_at_frame(), wait_for_code(), and
 * wait_at_stack_start().
 */
#ifndef EBPF_LANGUAGES_BPF_H
#define EBPF_LANGUAGES_BPF_H

#include "ebpf/abi/runtime.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/** Limit of the steps of any language in an unwind, native ones included. */
	LANGUAGE_STEPS_MAX = 3 * USER_FRAMES_MAX,
};

/** Returns the row of the process's first runtime of @language; NULL if it has none. */
static __always_inline const struct cell *find_language(const struct unwind_state *state,
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

/** Returns a number that is different for each process that ever runs: a key of what is cached between unwinds. */
static __always_inline __u64 process_key(const struct unwind_state *state)
{
	return state->record.identity.start_time_ns + state->record.identity.exec_id;
}

/** Copies the @count cells of a language's data from @first on; false if one is missing. */
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
 * If @executable_id is that of an interpreter of this process: makes the native frame that was added
 * last, whose stack begins at @sp, the pending frame, and its language the next one. The caller has set
 * state->pending_fp.
 */
static __always_inline void set_pending_frame(struct unwind_state *state, __u64 executable_id,
					      __u64 sp)
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
		state->pending_words[0] = state->record_words[RECORD_HEADER_WORDS + index - 2];
		state->pending_words[1] = state->record_words[RECORD_HEADER_WORDS + index - 1];
		state->pending_sp = sp;
		state->record.word_count = index - 2;
		return;
	}
}

/**
 * Leaves it to the language of @rule (CFA_LANGUAGE) to step out of the native frame that was added last: its function is
 * one of a runtime that may have switched stacks.
 */
static __always_inline void wait_at_frame(struct unwind_state *state, __u64 executable_id,
					  const struct unwind_rule *rule)
{
	state->language = (__u8)rule->cfa_addend;
	state->wait = WAIT_LEAVE;
	state->left_executable = executable_id;
	state->left_kind = rule->cfa_register;
	state->left_offset = rule->cfa_offset;
}

/**
 * True if state->pc, which is in no file, may be in code that one of the process's runtimes has generated: that runtime's
 * language is the next one, and its step decides. Each is asked once.
 */
static __always_inline bool wait_for_code(struct unwind_state *state)
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

/**
 * The outermost frame of a stack was added: the unwind is over, unless a language can go on to another stack. That is stack_language;
 * if no step has set it, the language of the first runtime that makes stacks, which may have made this one.
 */
static __always_inline void wait_at_stack_start(struct unwind_state *state)
{
	state->at_end = 1;
	state->wait = WAIT_STACK;
	state->language = state->stack_language;
	if (state->stack_language || !state->runtime_cell)
		return;
	for (int i = 0; i < RUNTIMES_MAX; i++) {
		const struct cell *row = cell_at(state->runtime_cell + i);

		if (!row || !row->words[0])
			return;
		if (row->words[1] & RUNTIME_HAS_STACKS) {
			state->language = (__u8)row->words[1];
			state->language_cell = row->words[1] >> 32;
			return;
		}
	}
}

/** Called by a language's step: pc is not in its runtime's code. The next runtime is asked, or a native step follows. */
static __always_inline void decline_code(struct unwind_state *state)
{
	state->language = FRAME_NONE;
	state->declined_pc = state->pc;
	state->declined_rows = state->asked_row + 1;
}

/** Has the effect of decline_code() by all runtimes. */
static __always_inline void decline_code_of_all(struct unwind_state *state)
{
	state->declined_pc = state->pc;
	state->declined_rows = RUNTIMES_MAX;
}

/** True if there is a pending native frame, whose frames the next language adds. */
static __always_inline bool has_pending_frame(const struct unwind_state *state)
{
	return state->language && state->wait == WAIT_FRAMES;
}

/** Adds the pending frame; a native step comes next. */
static __always_inline enum unwind_error release_frame(struct unwind_state *state)
{
	state->language = FRAME_NONE;
	return push_frame(state, state->pending_words[0], state->pending_words[1]);
}

/**
 * Clears FRAME_GUESS of the pending frame: a structure of the runtime was found in it where the loop keeps
 * that, so a guess was right.
 */
static __always_inline void prove_pending_frame(struct unwind_state *state)
{
	state->pending_words[0] &= ~((__u64)FRAME_GUESS << FRAME_FLAGS_SHIFT);
}

/** Adds an error frame: interpreted frames are missing here. */
static __always_inline enum unwind_error push_interpreter_error(struct unwind_state *state,
								enum unwind_error error)
{
	__u32 index;

	/* The count is read again, since the verifier loses the bound of a value that was just set. */
	barrier();
	index = state->record.word_count;

	if (index > TRACE_MAX_WORDS - 2)
		return UNWIND_TRUNCATED;
	state->record_words[RECORD_HEADER_WORDS + index] =
		frame_word(FRAME_ERROR, error, frame_address(state->pending_words[0]));
	state->record.word_count = index + 1;
	state->interpreter_error = error;
	return UNWIND_OK;
}

/** Returns the thread-local pointer at @path; 0 if there is none. */
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

/** True if the step of another language than @language is next; for FRAME_NONE, of any language. */
static __always_inline bool is_other_language(const struct unwind_state *state, __u32 language)
{
	return state->language && state->language != language;
}

/** True if the unwind is over. A language's frames may still be missing after the last native step. */
static __always_inline bool is_unwind_over(const struct unwind_state *state)
{
	return state->error || (state->at_end && !state->language);
}

#endif
