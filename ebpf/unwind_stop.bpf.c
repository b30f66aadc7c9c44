// SPDX-License-Identifier: GPL-2.0-only
/*
 * unwind_stop
 * enter: tail call to UNWINDER_STOP from every other program of a sample
 * leave: by return: the sample is over
 * reads: the state; the top of the stack, for a deferred sample; labels that languages find
 * bound: DEFERRED_STACK_MAX_BYTES; LABEL_SLOTS_MAX
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

SEC("perf_event")
int unwind_stop(void *ctx)
{
	struct unwind_state *state = state_get();

	if (!state)
		return 0;
	drop_part_of_exit_stack(state);
	if (may_be_resumed(state))
		begin_resumed_sample(state);
	if (state->record.type == RECORD_DEFERRED)
		add_stack_copy(state);
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
	return 0;
}
