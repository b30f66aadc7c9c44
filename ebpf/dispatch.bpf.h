/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Between the programs: the state they hand on, and the tail calls by which they do. The kernel
 * allows 32 tail calls for a sample (33 on some architectures); unwinders keep one back for
 * UNWINDER_STOP. A call that does not happen is counted, and what there is of the sample is sent
 * from where it stands.
 */
#ifndef EBPF_DISPATCH_BPF_H
#define EBPF_DISPATCH_BPF_H

#include "ebpf/languages.bpf.h"
#include "ebpf/maps.bpf.h"
#include "ebpf/send.bpf.h"
#include "ebpf/state.bpf.h"

/*
 * Each origin has its own, made by the loader, since the programs of one may interrupt those of another. One element for
 * each CPU that there can be, as the loader says: values of a per-CPU array are too small. An origin's programs must
 * not be interrupted by themselves, and stay on their CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_state);
} states SEC(".maps");

enum {
	/** Of a chain: the kernel allows 32 tail calls, one into it, one out of it, one to spare. */
	CHAIN_RUNS = 30,
};

/** Of the callbacks of all unwinders. */
struct walk_context {
	struct walk_state *state;
};

static __always_inline struct walk_state *state_get(void)
{
	__u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&states, &key);
}

/* Returns only if the call did not happen. */
static __always_inline void enter_unwinder(void *ctx, __u32 unwinder)
{
	bpf_tail_call(ctx, &unwinders, unwinder);
	count(COUNTER_TAIL_CALL_FAILED);
}

/** To unwind_stop; a walk that neither reached its end nor failed was cut. */
static __always_inline void leave_walk(void *ctx, struct walk_state *state)
{
	/* Its interpreted frames do not come any more. */
	if (state->language)
		state->error = UNWIND_TRUNCATED;
	if (has_held_frame(state))
		release_frame(state);
	if (!state->at_end && !state->error)
		state->error = UNWIND_TRUNCATED;
	enter_unwinder(ctx, UNWINDER_STOP);
	finish_record(state);
	send_record(state);
}

/**
 * Of the native unwinder, which stands in for those of languages until they are loaded: frames of functions
 * that the runtimes run are left out of this walk.
 */
static __always_inline void go_without_languages(struct walk_state *state)
{
	if (state->language && state->wait == WAIT_LEAVE)
		state->error = UNWIND_STACK_SWITCH;
	else if (has_held_frame(state))
		state->error = release_frame(state);
	state->language = FRAME_NONE;
	state->runtime_cell = 0;
}

/** From the unwinder of @language to that of the frames that come next, or out of the walk. */
static __always_inline void enter_language_or_leave(void *ctx, struct walk_state *state,
						    __u32 language)
{
	if (!state->error && is_other_language(state, language))
		enter_unwinder(ctx, unwinder_of(state->language));
	leave_walk(ctx, state);
}

#endif
