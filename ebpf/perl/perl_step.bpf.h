/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * perl_step(): adds the frames of Perl's subs, evals and files that the pending Perl_runops_standard() runs (languages.bpf.h),
 * one in each call, and at last that native frame.
 *
 * C code that calls a sub pushes a context without an op to return to (retop), and calls the loop. The contexts up to and with
 * that one are a level: they belong to that loop. An enum perl_level is what began it, and the caller of the native loop, an
 * enum perl_caller, has to fit it; if it does not, contexts and loops are out of step, and an error frame says so. Contexts
 * and loops do not come and go at the same instruction, so there are these cases:
 *
 *	catching	a loop that docatch() has called goes on with the level of the loop before it: it has all frames of the
 *			level, and the other none (`open`)
 *	left		the innermost loop has popped its last context, but has not returned yet
 *	entered		C code has pushed a level, but has not called the loop for it yet (before 5.38)
 *	own op		the loop executes the op of the C code, which lies in the stack frame of its caller: it has no level yet,
 *			or runs a sub in C, which has none (5.38 and later)
 *	paused		the code block of a sort, of List::Util::first() and their like keeps its level while no loop runs it
 *	dying		an exception has popped levels whose loops are still on the native stack
 *
 * No pointer of the process is trusted: memory that cannot be read ends the frames with an error frame, and the number of
 * steps is limited.
 */
#ifndef EBPF_PERL_STEP_BPF_H
#define EBPF_PERL_STEP_BPF_H

#include "ebpf/abi/perl.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/perl/perl_contexts.bpf.h"
#include "ebpf/perl/perl_frame.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/* Includes native steps. */
	PERL_STEPS_MAX = LANGUAGE_STEPS_MAX,
	PERL_PROCESS_CELLS = sizeof(struct perl_process) / CELL_BYTES,
	/* Contexts that are looked at in a step. */
	PERL_CONTEXTS_A_STEP = 4,
	/* Limit of empty stacks and of paused levels between two loops. */
	PERL_EMPTY_MAX = 4,
	PERL_PAUSED_MAX = 2,
	/* Limit of the stack frame of a function that calls the loop. */
	PERL_CALLER_BYTES = 1024,
	/* Limit of native frames that are looked through for that of an exception. */
	PERL_NATIVES_MAX = 24,
	/* DWARF number of rax. */
	PERL_RESULT_REGISTER = 0,
};

/* Who called the pending loop. */
static __always_inline __u32 perl_caller_of(const struct unwind_state *state)
{
	const struct perl_process *process = &state->perl.process;
	__u64 pc = state->pc - process->bias;

	for (int i = 0; i < PERL_CALLING_MAX; i++)
		if (perl_is_in(&process->calling[i], pc))
			return PERL_CALLER_SUB;
	if (perl_is_in(&process->catching, pc))
		return PERL_CALLER_CATCH;
	if (perl_is_in(&process->running, pc))
		return PERL_CALLER_RUN;
	return perl_is_in(&process->evaluating, pc) ? PERL_CALLER_EVAL : PERL_CALLER_BLOCK;
}

/* Makes the op in the two entries of the savestack from @index on the one that the next loop executes. */
static __always_inline void perl_restore_op(struct perl_unwind *unwind, __u32 index)
{
	__u64 op = 0, type = 0;

	unwind->has_op = 0;
	if (read_word_pair(unwind->saved + 8 * (__u64)index, &op, &type) ||
	    (type & PERL_SAVED_MASK) != unwind->process.saved_op_type)
		return;
	unwind->op = op;
	unwind->has_op = 1;
}

/* The same for the loop around the level that begins with @context. PL_op is saved before a sub or eval, and behind a block. */
static __always_inline void perl_restore_op_around(struct perl_unwind *unwind,
						   const struct perl_context *context)
{
	__u32 before = perl_level_of(context) == PERL_LEVEL_BLOCK ? 0 : 2;

	perl_restore_op(unwind, context->saved_count - before);
}

/* Loads the data of the process, and the beginning of this thread's contexts. */
static __always_inline enum unwind_error perl_begin(struct unwind_state *state)
{
	struct perl_unwind *unwind = &state->perl;
	const struct perl_process *process = &unwind->process;
	__u64 stack = 0, count = 0, loop = 0;

	unwind->cell = state->language_cell;
	unwind->is_lost = 1;
	unwind->is_first = 1;
	unwind->is_innermost = 1;
	unwind->in_frames = 0;
	unwind->closing = 0;
	unwind->open = 0;
	unwind->has_op = 1;
	unwind->natives = state->record.kernel_word_count;
	for (int i = 0; i < PERL_KNOWN_SUBS; i++)
		unwind->subs[i].address = 0;
	for (int i = 0; i < PERL_KNOWN_FILES; i++)
		unwind->files[i].address = 0;
	if (!read_cells(&unwind->process, state->language_cell, PERL_PROCESS_CELLS))
		return UNWIND_INTERPRETER_THREAD;
	unwind->interpreter = 0;
	if (process->interpreter.depth) {
		unwind->interpreter =
			follow_thread_path(state->thread_pointer, &process->interpreter);
		if (!unwind->interpreter)
			return UNWIND_INTERPRETER_THREAD;
	}
	if (read_word(unwind->interpreter + process->stack, &stack) ||
	    read_word(unwind->interpreter + process->op, &unwind->op) ||
	    read_word(unwind->interpreter + process->cop, &unwind->cop) ||
	    read_word(unwind->interpreter + process->saved, &unwind->saved) ||
	    read_word(unwind->interpreter + process->saved_count, &count) ||
	    read_word(unwind->interpreter + process->run, &loop))
		return UNWIND_INTERPRETER_THREAD;
	unwind->saved_count = (__u32)count;
	/* Some profilers and debuggers have a loop of their own. */
	if (loop != process->loop || !perl_read_stack(unwind, stack))
		return UNWIND_INTERPRETER_FRAMES;
	unwind->is_lost = 0;
	return UNWIND_OK;
}

static __always_inline enum unwind_error perl_leave(struct unwind_state *state)
{
	enum unwind_error error;

	state->perl.in_frames = 0;
	/* The count of words is read again, since the verifier loses the bound of a value that was just set. */
	barrier();
	error = release_frame(state);
	state->perl.natives = state->record.word_count;
	return error;
}

static __always_inline enum unwind_error perl_lose(struct unwind_state *state,
						   enum unwind_error missing)
{
	enum unwind_error error = push_interpreter_error(state, missing);

	state->perl.is_lost = 1;
	return error ? error : perl_leave(state);
}

/* Returns the address of the native frame that was added last, the pending frame's callee; 0: there is none. */
static __always_inline __u64 perl_callee(const struct unwind_state *state)
{
	__u32 index = state->record.word_count;

	if (index < 2 || index > TRACE_MAX_WORDS || index < state->perl.natives + 2 ||
	    frame_kind(state->record_words[RECORD_HEADER_WORDS + index - 2]) != FRAME_NATIVE ||
	    state->record_words[RECORD_HEADER_WORDS + index - 1] != state->pending_words[1])
		return 0;
	return frame_address(state->record_words[RECORD_HEADER_WORDS + index - 2]);
}

/* True if the native frames since the last loop have one that leaves contexts for an exception. */
static __always_inline bool perl_is_dying(const struct unwind_state *state)
{
	__u32 index = state->record.word_count;
	bool is_found = false;

	for (int i = 0; i < PERL_NATIVES_MAX; i++) {
		if (index < 2 || index > TRACE_MAX_WORDS || index < state->perl.natives + 2)
			break;
		index -= 2;
		is_found |=
			state->record_words[RECORD_HEADER_WORDS + index + 1] ==
				state->pending_words[1] &&
			perl_is_in(&state->perl.process.dying,
				   frame_address(state->record_words[RECORD_HEADER_WORDS + index]));
	}
	return is_found;
}

/* True if the innermost loop has popped the last context of its level, but has not returned. *@is_doubt: perhaps. */
static __always_inline bool perl_has_left(const struct unwind_state *state, bool *is_doubt)
{
	const struct perl_unwind *unwind = &state->perl;
	const struct perl_process *process = &unwind->process;
	__u64 pc = state->registers[PC_REGISTER] - process->bias;
	struct perl_context context;

	*is_doubt = false;
	if (!(frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS)) {
		/* A block that is called again and again keeps its context. */
		if (perl_read_top(unwind, &context) && perl_level_of(&context) == PERL_LEVEL_BLOCK)
			return false;
		return !unwind->op ||
		       (pc == process->loop_return && !state->registers[PERL_RESULT_REGISTER]);
	}
	if ((!perl_is_in(&process->leaving[0], pc) && !perl_is_in(&process->leaving[1], pc)) ||
	    !perl_read_context(unwind, unwind->left, &context) ||
	    (context.kind & (PERL_KIND_MASK | PERL_SUB_MULTICALL)) != PERL_KIND_SUB ||
	    context.retop || context.cv || context.cop != unwind->cop)
		return false;
	/* On a stack that was made for the call nothing is left; else it may be that of an earlier call. */
	*is_doubt = unwind->left;
	return true;
}

/*
 * True if C code has pushed the innermost context, whose first op has not run: what it saves and where it is called from is
 * as it was. *@is_doubt: perhaps.
 */
static __always_inline bool perl_is_entered(const struct perl_unwind *unwind, bool *is_doubt)
{
	struct perl_context context;
	bool is_at_call, is_saved;

	*is_doubt = false;
	if (!perl_read_top(unwind, &context) || perl_level_of(&context) != PERL_LEVEL_SUB)
		return false;
	is_at_call = context.cop == unwind->cop;
	is_saved = context.saved_count == unwind->saved_count;
	*is_doubt = is_at_call != is_saved;
	return is_at_call && is_saved;
}

/*
 * True if the context is that of a block that C code calls, and the scope of that code is not entered yet, or left again:
 * PL_op is the first thing that it saves. The scopes of patterns have other limits.
 */
static __always_inline bool perl_is_outside_block(const struct perl_unwind *unwind,
						  const struct perl_context *context)
{
	return (context->kind & PERL_KIND_MASK) == PERL_KIND_SUB &&
	       (context->kind & (PERL_SUB_MULTICALL | PERL_SUB_IS_PATTERN)) == PERL_SUB_MULTICALL &&
	       context->saved_count == unwind->saved_count;
}

/* Drops the innermost context, which no loop runs. */
static __always_inline void perl_drop(struct perl_unwind *unwind,
				      const struct perl_context *context)
{
	unwind->left--;
	if (perl_is_call(context))
		unwind->cop = context->cop;
	/* Outside of a block it is the current one, until that is saved, and when it is back. */
	if (!perl_is_outside_block(unwind, context) || !unwind->op)
		perl_restore_op_around(unwind, context);
}

/* True if the interrupted instruction is in @range. */
static __always_inline bool perl_leaf_is_in(const struct unwind_state *state,
					    const struct perl_code_range *range)
{
	return perl_is_in(range, state->registers[PC_REGISTER] - state->perl.process.bias);
}

/* True if the op that is executed is the one that calls the sub of @context. */
static __always_inline bool perl_is_called(const struct perl_unwind *unwind,
					   const struct perl_context *context)
{
	__u64 next = 0;

	/* The op's first word is the one behind it. */
	return unwind->op && !read_word(unwind->op, &next) && next == context->retop;
}

/* Judges the innermost context, whose index its stack does not have, by the op that is executed: it pushes or pops one. */
static __always_inline enum perl_context_state perl_state_by_op(const struct perl_unwind *unwind,
								const struct perl_context *context)
{
	__u32 enter = unwind->process.enter, entertry = unwind->process.entertry;
	__u16 number = 0;

	if (!unwind->op || bpf_probe_read_user(&number, sizeof(number),
					       (const void *)(unwind->op + PERL_OP_NUMBER)))
		return PERL_CONTEXT_UNKNOWN;
	number &= PERL_OP_NUMBER_MASK;
	if (number == enter || number == enter + PERL_FROM_ENTER_TO_ENTERITER ||
	    number == enter + PERL_FROM_ENTER_TO_ENTERLOOP || number == entertry ||
	    number == unwind->process.subst)
		return PERL_CONTEXT_BEGINS;
	return (context->kind & PERL_KIND_MASK) == PERL_KIND_EVAL &&
			       (number == entertry + PERL_FROM_ENTERTRY_TO_LEAVETRY ||
				number == entertry - PERL_FROM_LEAVEEVAL_TO_ENTERTRY ||
				number == enter + PERL_FROM_ENTER_TO_RETURN) ?
		       PERL_CONTEXT_WHOLE :
		       PERL_CONTEXT_UNKNOWN;
}

/* True if the innermost context was that of a block which is left: its stack has the index before it already. */
static __always_inline bool perl_has_left_block(const struct perl_unwind *unwind,
						const struct perl_context *context)
{
	__u64 op = 0;

	return perl_is_outside_block(unwind, context) &&
	       !read_word(unwind->saved + 8 * (__u64)context->saved_count, &op) && op == unwind->op;
}

/*
 * Looks at the innermost context, which may be half written: its number is increased first, and its stack gets the index of
 * the innermost sub or eval when position and kind are there. Before that it may be one that was popped earlier. A context
 * that is popped is whole, but the stack has the index before it already.
 */
static __always_inline enum perl_context_state perl_top_state(const struct unwind_state *state)
{
	const struct perl_unwind *unwind = &state->perl;
	const struct perl_process *process = &unwind->process;
	__u64 callee = perl_callee(state);
	struct perl_context context;
	bool is_sub, is_entering;

	if (!perl_read_top(unwind, &context) || !perl_has_index(&context))
		return PERL_CONTEXT_WHOLE;
	is_sub = (context.kind & PERL_KIND_MASK) == PERL_KIND_SUB;
	is_entering = is_sub && perl_leaf_is_in(state, &process->entering);
	if (unwind->sub_index == unwind->left - 1)
		/* Only the data that identify the sub may not be written yet. If a sub calls itself, they may be its caller's. */
		return context.cop == unwind->cop &&
				       ((is_entering &&
					 context.saved_count == unwind->saved_count) ||
					(is_sub && perl_is_in(&process->entering, callee) &&
					 perl_is_called(unwind, &context))) ?
			       PERL_CONTEXT_BEGINS :
			       PERL_CONTEXT_WHOLE;
	if (is_entering)
		return PERL_CONTEXT_BEGINS;
	/* It is being popped. */
	if (is_sub &&
	    (perl_is_in(&process->leaving[0], callee) || perl_is_in(&process->leaving[1], callee)))
		return PERL_CONTEXT_WHOLE;
	return perl_has_left_block(unwind, &context) ? PERL_CONTEXT_WHOLE :
						       perl_state_by_op(unwind, &context);
}

/* True if @address is in the stack frame of the function that called the pending loop. */
static __always_inline bool perl_is_of_caller(const struct unwind_state *state, __u64 address)
{
	return address - state->sp < PERL_CALLER_BYTES;
}

/* True if @address is on the native stack below the pending loop's frame. */
static __always_inline bool perl_is_below(const struct unwind_state *state, __u64 address)
{
	__u64 low = state->registers[SP_REGISTER];

	return low <= state->pending_sp && address - low < state->pending_sp - low;
}

/* Looks at the innermost loop, and drops a level for which there is none yet. */
static __always_inline enum perl_share perl_settle_first(struct unwind_state *state)
{
	struct perl_unwind *unwind = &state->perl;
	struct perl_context context;
	bool is_doubt, is_entered;

	switch (perl_top_state(state)) {
	case PERL_CONTEXT_UNKNOWN:
		return PERL_SHARE_UNKNOWN;
	case PERL_CONTEXT_BEGINS:
		unwind->left--;
		if (!perl_is_below(state, unwind->op) && !perl_is_of_caller(state, unwind->op))
			return PERL_SHARE_LEVEL;
		/* C code calls it. */
		is_entered = perl_is_below(state, unwind->op);
		perl_restore_op(unwind, unwind->saved_count - 2);
		return is_entered ? PERL_SHARE_LEVEL : PERL_SHARE_NONE;
	default:
		break;
	}
	if (unwind->caller != PERL_CALLER_RUN && unwind->caller != PERL_CALLER_BLOCK &&
	    perl_has_left(state, &is_doubt)) {
		if (is_doubt)
			return PERL_SHARE_UNKNOWN;
		if (unwind->caller == PERL_CALLER_CATCH)
			unwind->open = PERL_LEVEL_LEFT;
		perl_restore_op(unwind, unwind->saved_count - 2);
		return PERL_SHARE_NONE;
	}
	if (perl_read_top(unwind, &context) && perl_level_of(&context) == PERL_LEVEL_EVAL &&
	    perl_is_below(state, context.catch)) {
		perl_drop(unwind, &context);
		return PERL_SHARE_LEVEL;
	}
	if (!perl_is_below(state, unwind->op) &&
	    !(unwind->caller == PERL_CALLER_SUB && perl_is_of_caller(state, unwind->op)))
		return PERL_SHARE_LEVEL;
	is_entered = perl_is_entered(unwind, &is_doubt);
	if (is_doubt)
		return PERL_SHARE_UNKNOWN;
	if (perl_is_of_caller(state, unwind->op)) {
		if (is_entered)
			return PERL_SHARE_LEVEL;
		unwind->has_op = 0;
		return PERL_SHARE_NONE;
	}
	unwind->has_op = 0;
	if (is_entered && perl_read_top(unwind, &context))
		perl_drop(unwind, &context);
	return PERL_SHARE_LEVEL;
}

/* True if the level that begins with the innermost context waits for its next call. *@is_doubt: perhaps. */
static __always_inline bool perl_is_paused(const struct unwind_state *state,
					   const struct perl_context *context, bool *is_doubt)
{
	const struct perl_unwind *unwind = &state->perl;
	__u64 op = 0;

	*is_doubt = false;
	if (perl_level_of(context) != PERL_LEVEL_BLOCK ||
	    (context->kind & PERL_KIND_MASK) == PERL_KIND_DEFER)
		return false;
	/* The loop is just about to return. */
	if (!(frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS))
		return false;
	if (perl_is_outside_block(unwind, context))
		return true;
	*is_doubt = !unwind->has_op;
	if (!unwind->has_op || !unwind->op)
		return true;
	/* Before its first call, or where the op is put back behind each, it is the one that had been saved. */
	if (context->cop != unwind->cop ||
	    read_word(unwind->saved + 8 * (__u64)context->saved_count, &op))
		return false;
	return op == unwind->op;
}

/* Drops empty stacks and paused levels before those of the pending loop. */
static __always_inline bool perl_skip_levels(struct unwind_state *state)
{
	struct perl_unwind *unwind = &state->perl;
	struct perl_context context;
	bool is_doubt;

	for (int i = 0; i < PERL_PAUSED_MAX + 1; i++) {
		for (int j = 0; j < PERL_EMPTY_MAX && !unwind->left; j++) {
			if (perl_is_at_bottom(unwind))
				return true;
			if (!perl_read_stack(unwind, unwind->previous))
				return false;
		}
		if (!perl_read_top(unwind, &context))
			return false;
		if (!perl_is_paused(state, &context, &is_doubt))
			return true;
		if (is_doubt)
			return unwind->caller != PERL_CALLER_BLOCK &&
			       unwind->caller != PERL_CALLER_CATCH;
		perl_drop(unwind, &context);
	}
	return false;
}

/* Finds the contexts that the pending loop runs. */
static __always_inline enum perl_share perl_settle(struct unwind_state *state, bool is_first)
{
	struct perl_unwind *unwind = &state->perl;
	enum perl_share share = PERL_SHARE_LEVEL;

	/* A sub in C has no context, but the loop is still there. */
	if (unwind->caller == PERL_CALLER_SUB &&
	    perl_is_in(&unwind->process.replacing, perl_callee(state)))
		return PERL_SHARE_UNKNOWN;
	if (is_first) {
		share = perl_settle_first(state);
	} else if (unwind->caller == PERL_CALLER_SUB && unwind->process.calls_in_loop) {
		if (!unwind->has_op)
			return PERL_SHARE_UNKNOWN;
		if (perl_is_of_caller(state, unwind->op)) {
			unwind->has_op = 0;
			return PERL_SHARE_NONE;
		}
	}
	if (share == PERL_SHARE_LEVEL && !perl_skip_levels(state))
		return PERL_SHARE_UNKNOWN;
	return share;
}

/* Begins with the frames of the pending frame. */
static __always_inline enum unwind_error perl_enter(struct unwind_state *state)
{
	struct perl_unwind *unwind = &state->perl;
	enum unwind_error error;
	bool is_first;

	if (unwind->cell != state->language_cell) {
		error = perl_begin(state);
		if (error)
			return perl_lose(state, error);
	}
	if (unwind->is_lost)
		return perl_leave(state);
	unwind->caller = perl_caller_of(state);
	/* Loops may be missing. */
	if (state->guess_count || (unwind->caller != PERL_CALLER_RUN && perl_is_dying(state)))
		return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
	is_first = unwind->is_first;
	unwind->is_first = 0;
	if (unwind->open) {
		if (unwind->caller == PERL_CALLER_CATCH)
			return perl_leave(state);
		if (!perl_fits(unwind->open, unwind->caller))
			return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
		unwind->open = PERL_LEVEL_NONE;
		return perl_leave(state);
	}
	switch (perl_settle(state, is_first)) {
	case PERL_SHARE_UNKNOWN:
		return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
	case PERL_SHARE_NONE:
		return perl_leave(state);
	default:
		unwind->in_frames = 1;
		return UNWIND_OK;
	}
}

/* Ends a level: the pending frame has to be the loop that ran it. */
static __always_inline enum unwind_error perl_finish(struct unwind_state *state, __u32 level)
{
	struct perl_unwind *unwind = &state->perl;

	unwind->closing = PERL_LEVEL_NONE;
	if (unwind->caller == PERL_CALLER_CATCH)
		unwind->open = level;
	else if (!perl_fits(level, unwind->caller))
		return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
	return perl_leave(state);
}

/* Adds a frame for the context that was read, if it has one. *@is_added: it has. */
static __always_inline enum unwind_error
perl_add_context(struct unwind_state *state, const struct perl_context *context, bool *is_added)
{
	struct perl_unwind *unwind = &state->perl;
	__u32 code = perl_code_of(context);
	enum unwind_error error = UNWIND_OK;

	*is_added = code;
	if (code == PERL_CODE_SUB && unwind->is_innermost && context->cop == unwind->cop) {
		__u64 first = perl_first_cop(state, context->cv);

		if (first)
			unwind->cop = first;
	}
	if (code) {
		unwind->is_innermost = 0;
		error = perl_push(state, code, context->cv);
	}
	if (perl_is_call(context))
		unwind->cop = context->cop;
	return error;
}

static __always_inline bool perl_is_eval_around(const struct perl_context *context)
{
	return (context->kind & PERL_KIND_MASK) == PERL_KIND_EVAL &&
	       context->kind & PERL_EVAL_BLOCK && !context->retop;
}

/* Takes a step to add the next frame. */
static __always_inline enum unwind_error perl_add_frame(struct unwind_state *state)
{
	struct perl_unwind *unwind = &state->perl;
	struct perl_context context;
	enum unwind_error error;
	__u32 level;
	bool is_added;

	for (int i = 0; i < PERL_CONTEXTS_A_STEP; i++) {
		if (!unwind->left) {
			if (unwind->closing)
				return perl_finish(state, unwind->closing);
			if (!perl_is_at_bottom(unwind)) {
				if (!perl_read_stack(unwind, unwind->previous))
					return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
				continue;
			}
			if (unwind->caller != PERL_CALLER_RUN)
				return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
			error = perl_push(state, PERL_CODE_MAIN, 0);
			return error ? error : perl_finish(state, PERL_LEVEL_MAIN);
		}
		if (!perl_read_top(unwind, &context))
			return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
		if (unwind->closing && !perl_is_eval_around(&context))
			return perl_finish(state, unwind->closing);
		unwind->left--;
		error = perl_add_context(state, &context, &is_added);
		if (error)
			return error;
		level = perl_level_for(unwind, &context);
		if (level) {
			perl_restore_op_around(unwind, &context);
			/* Else it is that of another call. */
			if (level == PERL_LEVEL_EVAL && unwind->caller == PERL_CALLER_EVAL &&
			    !perl_is_of_caller(state, context.catch))
				return perl_lose(state, UNWIND_INTERPRETER_FRAMES);
			if (level == PERL_LEVEL_BLOCK)
				return perl_finish(state, level);
			unwind->closing = level;
		}
		if (is_added)
			return UNWIND_OK;
	}
	return UNWIND_OK;
}

/** Takes one step while state->language is FRAME_PERL. */
static __always_inline enum unwind_error perl_step(struct unwind_state *state)
{
	struct perl_unwind *unwind = &state->perl;

	if (unwind->cell != state->language_cell || !unwind->in_frames)
		return perl_enter(state);
	return perl_add_frame(state);
}

#endif
