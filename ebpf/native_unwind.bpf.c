// SPDX-License-Identifier: GPL-2.0-only
/*
 * native_unwind, native_unwind_chain
 * enter: tail call to UNWINDER_NATIVE, the state set to a frame of native code; the loader puts one
 *        of the two there: native_unwind where the kernel has bpf_loop(), else the chain
 * leave: tail call to UNWINDER_STOP
 * reads: slabs and executables, written by user space; the process's stack
 * bound: native_unwind USER_FRAMES_MAX frames; native_unwind_chain CHAIN_FRAMES a run in CHAIN_RUNS
 *        runs, 540 in all, which leaves room for one more tail call
 */
#include "ebpf/dispatch.bpf.h"
#include "ebpf/native_step.bpf.h"

enum {
	/* The verifier follows each frame of a run apart; it gives up at about 25. */
	CHAIN_FRAMES = 18,
	/* The kernel allows 32 tail calls: one into the chain, one out of it, one to spare. */
	CHAIN_RUNS = 30,
};

/* Nonzero when the walk is over. */
static __always_inline long walk_frame(struct walk_state *state)
{
	state->error = native_step(state);
	return state->error || state->at_end;
}

struct walk_context {
	struct walk_state *state;
};

static long walk_frame_callback(__u32 index, void *context)
{
	return walk_frame(((struct walk_context *)context)->state);
}

SEC("perf_event")
int native_unwind(void *ctx)
{
	struct walk_context context = { .state = clock_state_get() };

	if (!context.state)
		return 0;
	bpf_loop(USER_FRAMES_MAX, walk_frame_callback, &context, 0);
	leave_walk(ctx, context.state);
	return 0;
}

SEC("perf_event")
int native_unwind_chain(void *ctx)
{
	struct walk_state *state = clock_state_get();

	if (!state)
		return 0;
	for (int i = 0; i < CHAIN_FRAMES; i++) {
		if (walk_frame(state)) {
			leave_walk(ctx, state);
			return 0;
		}
	}
	if (++state->run_count < CHAIN_RUNS)
		enter_unwinder(ctx, UNWINDER_NATIVE);
	leave_walk(ctx, state);
	return 0;
}
