// SPDX-License-Identifier: GPL-2.0-only
/*
 * native_unwind, native_unwind_chain
 * enter: tail call to UNWINDER_NATIVE, the state set to a frame of native code; the loader puts one
 *        of the two there: native_unwind where the kernel has bpf_loop(), else the chain; and to
 *        the unwinder of a language, as long as that is not loaded
 * leave: tail call to UNWINDER_STOP; to a language's unwinder at the first frame that runs one of its
 *        functions
 * reads: slabs and executables, written by user space; the process's stack
 * bound: native_unwind USER_FRAMES_MAX frames; native_unwind_chain CHAIN_FRAMES a run in CHAIN_RUNS
 *        runs, 600 in all, which leaves room for one more tail call; a guess is a
 *        run and ends the one before
 */
#include "ebpf/dispatch.bpf.h"
#include "ebpf/native_step.bpf.h"

enum {
	/* The verifier follows each frame of a run separately; it gives up at about 30. */
	CHAIN_FRAMES = 20,
};

static long unwind_frame_callback(__u32 index, void *context)
{
	struct unwind_state *state = ((struct unwind_context *)context)->state;

	state->error = native_step_or_guess(state);
	return is_unwind_over(state) || state->language;
}

SEC("perf_event")
int native_unwind(void *ctx)
{
	struct unwind_context context = { .state = state_get() };

	if (!context.state)
		return 0;
	if (context.state->language)
		go_without_languages(context.state);
	if (!context.state->error)
		bpf_loop(USER_FRAMES_MAX, unwind_frame_callback, &context, 0);
	enter_language_or_leave(ctx, context.state, FRAME_NONE);
	return 0;
}

static __always_inline void unwind_frames(struct unwind_state *state)
{
	for (int i = 0; i < CHAIN_FRAMES; i++) {
		if (is_unwind_over(state) || state->guess_for || state->language)
			break;
		state->error = native_step_of_chain(state);
	}
}

SEC("perf_event")
int native_unwind_chain(void *ctx)
{
	struct unwind_state *state = state_get();

	if (!state)
		return 0;
	if (state->language)
		go_without_languages(state);
	/* A guess is a separate run, since the verifier would follow the next frames for each path through it. */
	if (state->guess_for)
		state->error = guess_caller(state, false);
	else
		unwind_frames(state);
	if (!is_unwind_over(state) && !state->language && ++state->run_count < CHAIN_RUNS)
		enter_unwinder(ctx, UNWINDER_NATIVE);
	enter_language_or_leave(ctx, state, FRAME_NONE);
	return 0;
}
