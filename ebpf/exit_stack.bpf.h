/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The top of a thread's user stack while the thread ends. The kernel takes the memory from the thread early in its exit, so
 * that most samples of an exit could not read the stack any more. It is copied before, where the tracepoint of the exit comes
 * early enough (6.16), and where a thread ends by itself that much of its stack is enough: it has returned from its function.
 *
 * A copy belongs to one CPU. A thread that another CPU continues has none there.
 */
#ifndef EBPF_EXIT_STACK_BPF_H
#define EBPF_EXIT_STACK_BPF_H

#include "ebpf/task.bpf.h"
#include "ebpf/user_registers.bpf.h"

struct exit_stack {
	/** The thread, as bpf_get_current_pid_tgid(); 0: there is no copy. */
	__u64 thread;
	/** Its stack pointer, and the words from there on. */
	__u64 start;
	__u64 words[WINDOW_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct exit_stack);
} exit_stacks SEC(".maps");

static __always_inline struct exit_stack *exit_stack_get(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&exit_stacks, &key);
}

/** Copies the stack of @task, the current_task(), which ends; not of a process without an entry, which is not unwound yet. */
static __always_inline void save_exit_stack(struct task_struct *task, bool has_entry)
{
	struct exit_stack *saved = exit_stack_get();
	__u64 words[WINDOW_WORDS], sp;

	if (!saved)
		return;
	saved->thread = 0;
	if (!has_entry || !TASK_READ(task, mm) ||
	    bpf_probe_read_kernel(&sp, sizeof(sp), task_saved_registers(task) + 8 * SAVED_SP) ||
	    bpf_probe_read_user(words, sizeof(words), (const void *)sp))
		return;
	__builtin_memcpy(saved->words, words, sizeof(words));
	saved->start = sp;
	saved->thread = bpf_get_current_pid_tgid();
}

/** Uses the copy of the current task's stack for the unwind; false if there is none. */
static __always_inline bool use_exit_stack(struct unwind_state *state)
{
	const struct exit_stack *saved = exit_stack_get();

	if (!saved || saved->thread != bpf_get_current_pid_tgid())
		return false;
	__builtin_memcpy(state->stack.words, saved->words, sizeof(saved->words));
	state->stack.start = saved->start;
	state->stack.bytes = WINDOW_BYTES;
	state->is_exiting = 1;
	return true;
}

/** Drops the user frames of an unwind by a copy that was not enough: the task has given up its memory. */
static __always_inline void drop_part_of_exit_stack(struct unwind_state *state)
{
	if (!state->is_exiting || !state->error)
		return;
	state->record.word_count = state->record.kernel_word_count;
	state->error = UNWIND_OK;
	state->at_end = 1;
}

#endif
