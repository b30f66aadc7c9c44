/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The state that the programs pass on, and the tail calls between them. The kernel allows 32 tail
 * calls for a sample (33 on some architectures); unwinders reserve one for UNWINDER_STOP. A tail call
 * that fails is counted, and the incomplete sample is sent at once.
 */
#ifndef EBPF_DISPATCH_BPF_H
#define EBPF_DISPATCH_BPF_H

#include "ebpf/languages.bpf.h"
#include "ebpf/maps.bpf.h"
#include "ebpf/send.bpf.h"
#include "ebpf/state.bpf.h"

/*
 * One map for each origin, which the loader makes, since the programs of one origin may interrupt those of another. It has
 * one element for each possible CPU (the loader sets max_entries), as values of a per-CPU array cannot be this large. An
 * origin's programs must not interrupt themselves, and stay on their CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_state);
} states SEC(".maps");

enum {
	/** Limit of the runs of a chain: of the kernel's 32 tail calls one enters it and one leaves it. */
	CHAIN_RUNS = 30,
};

/** Context of the callbacks of all unwinders. */
struct unwind_context {
	struct unwind_state *state;
};

static __always_inline struct unwind_state *state_get(void)
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

/** Ends the unwind by a tail call to unwind_stop. An unwind that neither reached its end nor failed was truncated. */
static __always_inline void leave_unwind(void *ctx, struct unwind_state *state)
{
	/* Interpreted frames are still missing. */
	if (state->language)
		state->error = UNWIND_TRUNCATED;
	if (has_pending_frame(state))
		release_frame(state);
	if (!state->at_end && !state->error)
		state->error = UNWIND_TRUNCATED;
	enter_unwinder(ctx, UNWINDER_STOP);
	finish_record(state);
	send_record(state);
}

/**
 * Continues without the languages' unwinders, which are not loaded yet: this unwind leaves out the frames of
 * functions that runtimes run. The native unwinder calls it.
 */
static __always_inline void go_without_languages(struct unwind_state *state)
{
	if (state->language && state->wait == WAIT_LEAVE)
		state->error = UNWIND_STACK_SWITCH;
	else if (has_pending_frame(state))
		state->error = release_frame(state);
	state->language = FRAME_NONE;
	state->runtime_cell = 0;
}

/** Leaves the unwinder of @language: enters that of the next frames, or ends the unwind. */
static __always_inline void enter_language_or_leave(void *ctx, struct unwind_state *state,
						    __u32 language)
{
	if (!state->error && is_other_language(state, language))
		enter_unwinder(ctx, unwinder_of(state->language));
	leave_unwind(ctx, state);
}

#endif
