// SPDX-License-Identifier: GPL-2.0-only
/*
 * unwind_stop, unwind_stop_chain
 * enter: tail call to UNWINDER_STOP from every other program of a sample; the loader puts one of the two there:
 *        unwind_stop where the kernel has bpf_loop()
 * leave: by return: the sample is over
 * reads: the state; the top of the stack, for a deferred sample; labels that languages find
 * bound: DEFERRED_STACK_MAX_BYTES, unwind_stop_chain DEFERRED_CHAIN_STACK_BYTES; LABEL_SLOTS_MAX
 */
#include "build/ebpf/language_labels.h"
#include "ebpf/deferred_sample.bpf.h"
#include "ebpf/dispatch.bpf.h"
#include "ebpf/exit_stack.bpf.h"
#include "ebpf/process_events.bpf.h"
#include "ebpf/task.bpf.h"

static __always_inline void tell_unknown_address(const struct unwind_state *state)
{
	struct process_identity identity = state->record.identity;

	send_process_event_once((struct task_struct *)bpf_get_current_task(),
				PROCESS_EVENT_UNKNOWN_ADDRESS, state->record.pid, &identity,
				state->unknown_address);
}

static long add_stack_chunk_callback(__u32 index, void *context)
{
	return !add_stack_chunk(((struct unwind_context *)context)->state);
}

static __always_inline void copy_stack(struct unwind_state *state)
{
	struct unwind_context context = { .state = state };

	begin_stack_copy(state, DEFERRED_STACK_MAX_BYTES);
	bpf_loop(STACK_CHUNKS_MAX, add_stack_chunk_callback, &context, 0);
	end_stack_copy(state);
}

static __always_inline void copy_stack_without_loop(struct unwind_state *state)
{
	begin_stack_copy(state, DEFERRED_CHAIN_STACK_BYTES);
	for (int i = 0; i < DEFERRED_CHAIN_STACK_BYTES / STACK_CHUNK_BYTES; i++)
		if (!add_stack_chunk(state))
			break;
	end_stack_copy(state);
}

/* True if the sample is to be unwound in user space, over a copy of its stack. */
static __always_inline bool begin_stop(struct unwind_state *state)
{
	drop_part_of_exit_stack(state);
	if (may_be_resumed(state))
		begin_resumed_sample(state);
	return state->record.type == RECORD_DEFERRED;
}

static __always_inline void end_stop(struct unwind_state *state)
{
	finish_record(state);
	if (state->record.type == RECORD_TRACE) {
		state->thread_pointer = read_thread_pointer();
#define X(kind, NAME, name, type, frames, files) name##_add_labels(state);
		LANGUAGES(X)
#undef X
	}
	send_record(state);
	if (state->unknown_address)
		tell_unknown_address(state);
}

SEC("perf_event")
int unwind_stop(void *ctx)
{
	struct unwind_state *state = state_get();

	if (!state)
		return 0;
	if (begin_stop(state))
		copy_stack(state);
	end_stop(state);
	return 0;
}

SEC("perf_event")
int unwind_stop_chain(void *ctx)
{
	struct unwind_state *state = state_get();

	if (!state)
		return 0;
	if (begin_stop(state))
		copy_stack_without_loop(state);
	end_stop(state);
	return 0;
}
