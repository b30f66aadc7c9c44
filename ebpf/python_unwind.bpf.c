// SPDX-License-Identifier: GPL-2.0-only
/*
 * python_unwind, python_unwind_chain
 * enter: tail call to UNWINDER_PYTHON, from native_unwind at the first native frame of a walk that
 *        runs functions of CPython; the loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: python_unwind PYTHON_STEPS_MAX steps, native ones included; python_unwind_chain
 *        PYTHON_CHAIN_STEPS a run, in the runs that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/dispatch.bpf.h"
#include "ebpf/native_step.bpf.h"
#include "ebpf/python_step.bpf.h"
#include "ebpf/task.bpf.h"

enum {
	PYTHON_CHAIN_STEPS = 12,
};

static long python_step_callback(__u32 index, void *context)
{
	struct walk_state *state = ((struct walk_context *)context)->state;

	if (state->language == FRAME_PYTHON)
		state->error = python_step(state);
	else
		state->error = native_step_or_guess(state);
	return is_walk_over(state) || is_other_language(state, FRAME_PYTHON);
}

SEC("perf_event")
int python_unwind(void *ctx)
{
	struct walk_context context = { .state = clock_state_get() };

	if (!context.state)
		return 0;
	context.state->thread_pointer = read_thread_pointer();
	bpf_loop(PYTHON_STEPS_MAX, python_step_callback, &context, 0);
	enter_language_or_leave(ctx, context.state, FRAME_PYTHON);
	return 0;
}

static __always_inline void take_python_steps(struct walk_state *state)
{
	for (int i = 0; i < PYTHON_CHAIN_STEPS; i++) {
		if (is_walk_over(state) || state->guess_for ||
		    is_other_language(state, FRAME_PYTHON))
			break;
		if (state->language)
			state->error = python_step(state);
		else
			state->error = native_step(state);
	}
}

SEC("perf_event")
int python_unwind_chain(void *ctx)
{
	struct walk_state *state = clock_state_get();

	if (!state)
		return 0;
	state->thread_pointer = read_thread_pointer();
	if (state->guess_for)
		state->error = guess_caller(state, false);
	else
		take_python_steps(state);
	if (!is_walk_over(state) && !is_other_language(state, FRAME_PYTHON) &&
	    ++state->run_count < CHAIN_RUNS)
		enter_unwinder(ctx, UNWINDER_PYTHON);
	enter_language_or_leave(ctx, state, FRAME_PYTHON);
	return 0;
}
