/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The common part of the entry programs of all origins of samples (abi/origins.h): it fills the current task's record, adds
 * the kernel frames, and enters the unwinders.
 */
#ifndef EBPF_TAKE_SAMPLE_BPF_H
#define EBPF_TAKE_SAMPLE_BPF_H

#include "ebpf/deferred_sample.bpf.h"
#include "ebpf/dispatch.bpf.h"
#include "ebpf/exit_stack.bpf.h"
#include "ebpf/process_events.bpf.h"
#include "ebpf/selection.bpf.h"
#include "ebpf/task.bpf.h"
#include "ebpf/user_registers.bpf.h"

/* A fork gets its entry within milliseconds; an older one without an entry has lost it. */
#define FORK_NEW_NS 1000000000ULL

/* Sets the header of the record; its type, flags and frames follow. */
static __always_inline void begin_record(struct unwind_state *state, struct task_struct *task,
					 struct task_struct *leader, __u32 pid, __u8 origin,
					 __u64 value)
{
	struct trace_record *record = &state->record;

	record->time_ns = bpf_ktime_get_ns();
	record->value = value;
	record->pid = pid;
	record->tid = current_thread_number(task);
	record->identity = current_identity(leader);
	record->cpu = bpf_get_smp_processor_id();
	record->word_count = 0;
	record->label_bytes = 0;
	record->type = RECORD_TRACE;
	record->origin = origin;
	record->flags = 0;
	record->reserved = 0;
	record->kernel_word_count = 0;
	read_current_comm(task, record->comm);
	if (leader == task)
		__builtin_memcpy(record->process_comm, record->comm, COMM_BYTES);
	else
		BPF_CORE_READ_INTO(&record->process_comm, leader, comm);
}

/* Adds the kernel's frames: their addresses are words of frames already (abi/frame.h). */
static __always_inline void add_kernel_frames(void *ctx, struct unwind_state *state)
{
	__u64 *words = &state->record_words[RECORD_HEADER_WORDS];
	long bytes = bpf_get_stack(ctx, words, KERNEL_FRAMES_MAX * sizeof(*words), 0);
	__u32 frame_count = bytes > 0 ? bytes / sizeof(*words) : 0;

	state->record.word_count = frame_count;
	state->record.kernel_word_count = frame_count;
	count_more(COUNTER_KERNEL_FRAMES, frame_count);
}

/* True if process @pid has an entry with the same identity as @identity. */
static __always_inline bool find_process(struct unwind_state *state, __u32 pid,
					 const struct process_identity *identity)
{
	struct process_entry *shared, entry;

	shared = bpf_map_lookup_elem(&processes, &pid);
	if (!shared)
		return false;
	/* User space may be replacing it: only the copy is used. */
	__builtin_memcpy(&entry, shared, sizeof(entry));
	barrier();
	if (entry.checksum != process_entry_checksum(&entry)) {
		count(COUNTER_TORN_ENTRIES);
		return false;
	}
	if (entry.pid != pid || !identity_equal(&entry.identity, identity))
		return false;
	state->mapping_cell = entry.mapping_cell;
	state->mapping_count = entry.mapping_count;
	state->runtime_cell = entry.runtime_cell;
	return true;
}

/* True if the process is a new fork and its parent has an entry. User space checks later that it is valid for the fork. */
static __always_inline bool find_parent(struct unwind_state *state, struct task_struct *task,
					struct task_struct *leader)
{
	struct task_struct *parent;
	struct process_identity identity;

	if (state->record.time_ns - state->record.identity.start_time_ns > FORK_NEW_NS)
		return false;
	parent = TASK_READ(leader, real_parent);
	if (!is_fork_of(task, leader, parent))
		return false;
	identity = leader_identity(BPF_CORE_READ(parent, group_leader));
	if (!find_process(state, task_process_number(parent), &identity))
		return false;
	state->record.flags |= RECORD_PARENT_ENTRY;
	return true;
}

/*
 * True while the kernel sets up a new program: the old one's memory is gone, its registers are
 * still there, and the identity is the new program's. It has no user frames yet. The flag excludes a
 * child of an unknown program whose exec has not replaced that program yet.
 */
static __always_inline bool is_between_programs(struct task_struct *task, __u32 task_flags)
{
	if (task_flags & TASK_FORKED_WITHOUT_EXEC || !bpf_core_field_exists(task->in_execve))
		return false;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * Sets the state to the innermost user frame, and the type of the record: if the process has an entry it is
 * unwound here, else user space unwinds it as a deferred sample. A task that has given up its memory, since
 * it exits or is between two programs, has no user frames, unless its stack was copied: it is at its end.
 */
static __always_inline enum unwind_error find_user_frame(void *ctx, struct unwind_state *state,
							 struct task_struct *task,
							 struct task_struct *leader,
							 __u32 task_flags, bool has_registers)
{
	struct process_identity identity = state->record.identity;
	enum unwind_error error;
	bool known;

	if (!TASK_READ(task, mm) && !use_exit_stack(state)) {
		state->at_end = 1;
		return UNWIND_OK;
	}
	known = find_process(state, state->record.pid, &identity);
	if (!known && (state->is_exiting || is_between_programs(task, task_flags))) {
		state->at_end = 1;
		return UNWIND_OK;
	}
	if (!known) {
		send_process_event_once(task, PROCESS_EVENT_UNKNOWN_PROCESS, state->record.pid,
					&identity, 0);
		known = find_parent(state, task, leader);
	}
	error = find_user_registers(ctx, task, state, has_registers);
	if (!known && !error)
		state->record.type = RECORD_DEFERRED;
	return error;
}

/**
 * Takes a sample of the current task for @origin; @value as in struct trace_record. @has_registers, a constant: true if the context
 * is that of a perf event, whose first words are the interrupted registers; if false, the task is in the kernel. Leaves by a tail
 * call, or returns 0 if there is no sample.
 */
static __always_inline int take_sample(void *ctx, __u8 origin, __u64 value, bool has_registers)
{
	struct task_struct *task, *leader;
	struct unwind_state *state;
	__u32 pid, task_flags;
	bool in_kernel, is_kernel;

	count(COUNTER_RUNS);
	if ((__u32)bpf_get_current_pid_tgid() == 0) {
		count(COUNTER_IDLE);
		return 0;
	}
	task = current_task();
	leader = TASK_READ(task, group_leader);
	pid = current_process_number(task);
	if (!is_selected(task, leader, pid)) {
		count(COUNTER_UNSELECTED);
		return 0;
	}
	state = state_get();
	if (!state)
		return 0;
	state_begin(state);
	begin_record(state, task, leader, pid, origin, value);
	in_kernel = !has_registers || !context_in_user_mode(ctx);
	if (in_kernel)
		state->record.flags |= RECORD_IN_KERNEL;
	task_flags = TASK_READ(task, flags);
	is_kernel = is_kernel_thread(task_flags);
	if (is_kernel) {
		state->record.flags |= RECORD_KERNEL_THREAD;
		state->at_end = 1;
		count(COUNTER_KERNEL_THREAD);
	} else {
		state->error = find_user_frame(ctx, state, task, leader, task_flags, has_registers);
	}
	if (in_kernel)
		add_kernel_frames(ctx, state);
	if (state->record.type == RECORD_DEFERRED) {
		begin_deferred_sample(state);
		count(COUNTER_FIRST);
		state->at_end = 1;
	} else if (!state->at_end && !state->error) {
		state->uprobe_task = (__u64)TASK_READ(task, utask);
		enter_unwinder(ctx, UNWINDER_NATIVE);
	}
	leave_unwind(ctx, state);
	return 0;
}

#endif
