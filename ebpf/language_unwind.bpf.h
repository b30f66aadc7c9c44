/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The common part of all languages' unwinders: they run the steps of one language, and native steps between
 * them, until the unwind is over or another language is next. Each has two programs, as the native unwinder.
 */
#ifndef EBPF_LANGUAGE_UNWIND_BPF_H
#define EBPF_LANGUAGE_UNWIND_BPF_H

#include "ebpf/dispatch.bpf.h"
#include "ebpf/native_step.bpf.h"
#include "ebpf/task.bpf.h"

/** Steps from a frame of the language to the next one; called only with state->language set to it. */
typedef enum unwind_error language_step(struct unwind_state *state);

/** The callback of bpf_loop(): one step. */
static __always_inline long unwind_step(void *context, __u32 language, language_step *step)
{
	struct unwind_state *state = ((struct unwind_context *)context)->state;

	if (state->language == language)
		state->error = step(state);
	else
		state->error = native_step_or_guess(state);
	return is_unwind_over(state) || is_other_language(state, language);
}

/** Runs all steps, at most @steps_max, by @callback, which calls unwind_step(). */
static __always_inline void unwind_language(void *ctx, __u32 language, __u32 steps_max,
					    long (*callback)(__u32 index, void *context))
{
	struct unwind_context context = { .state = state_get() };

	if (!context.state)
		return;
	context.state->thread_pointer = read_thread_pointer();
	bpf_loop(steps_max, callback, &context, 0);
	enter_language_or_leave(ctx, context.state, language);
}

/** Does one run of a chain: @count steps, or a guess. */
static __always_inline void unwind_language_run(void *ctx, __u32 language, int count,
						language_step *step)
{
	struct unwind_state *state = state_get();

	if (!state)
		return;
	state->thread_pointer = read_thread_pointer();
	if (state->guess_for) {
		state->error = guess_caller(state, false);
	} else {
		for (int i = 0; i < count; i++) {
			if (is_unwind_over(state) || state->guess_for ||
			    is_other_language(state, language))
				break;
			if (state->language)
				state->error = step(state);
			else
				state->error = native_step_of_chain(state);
		}
	}
	if (!is_unwind_over(state) && !is_other_language(state, language) &&
	    ++state->run_count < CHAIN_RUNS)
		enter_unwinder(ctx, unwinder_of(language));
	enter_language_or_leave(ctx, state, language);
}

/** A step for chains that are never entered. */
static __always_inline enum unwind_error no_step(struct unwind_state *state)
{
	state->language = FRAME_NONE;
	return UNWIND_NO_INFO;
}

/**
 * Defines the two programs of a language. name_unwind takes at most @steps steps, native ones included.
 * name_unwind_chain takes @chain_steps in each run, in the runs that the native chain has left of CHAIN_RUNS. @step and
 * @chain_step are their language_step.
 */
#define LANGUAGE_PROGRAMS(NAME, name, steps, step, chain_steps, chain_step)                        \
	static long name##_step_callback(__u32 index, void *context)                               \
	{                                                                                          \
		return unwind_step(context, FRAME_##NAME, step);                                   \
	}                                                                                          \
                                                                                                   \
	SEC("perf_event")                                                                          \
	int name##_unwind(void *ctx)                                                               \
	{                                                                                          \
		unwind_language(ctx, FRAME_##NAME, steps, name##_step_callback);                   \
		return 0;                                                                          \
	}                                                                                          \
                                                                                                   \
	SEC("perf_event")                                                                          \
	int name##_unwind_chain(void *ctx)                                                         \
	{                                                                                          \
		unwind_language_run(ctx, FRAME_##NAME, chain_steps, chain_step);                   \
		return 0;                                                                          \
	}

#endif
