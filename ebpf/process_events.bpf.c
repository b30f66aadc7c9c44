// SPDX-License-Identifier: GPL-2.0-only
/*
 * process_exec, process_exit
 * enter: raw tracepoints sched_process_exec (behind the exec: the identity is the new program's) and
 *        sched_process_exit
 * leave: by return
 * reads: the task; the top of the stack of a thread that ends
 * bound: no loops
 */
#include "ebpf/process_events.bpf.h"
#include "ebpf/exit_stack.bpf.h"

static __always_inline int process_event_current(struct task_struct *leader, __u32 pid, __u32 type,
						 __u64 address)
{
	struct process_event process_event = {
		.type = type,
		.pid = pid,
		.identity = current_identity(leader),
		.time_ns = bpf_ktime_get_ns(),
		.address = address,
	};

	if (pid)
		send_process_event(&process_event, false);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int process_exec(void *ctx)
{
	struct task_struct *task = current_task();
	struct mm_struct *memory = TASK_READ(task, mm);

	return process_event_current(TASK_READ(task, group_leader), current_process_number(task),
				     PROCESS_EVENT_EXEC, TASK_READ(memory, start_code));
}

/*
 * False for a fork that runs its parent's program and was not sampled. Most forks of shells are like that, and user space
 * does not know them: it learns of a process by its exec, by a sample, or when the agent starts, and then has an entry for it.
 */
static __always_inline bool user_space_may_know(struct task_struct *leader, __u32 pid,
						bool has_entry)
{
	return has_entry || !(TASK_READ(leader, flags) & TASK_FORKED_WITHOUT_EXEC) ||
	       bpf_map_lookup_elem(&notified, &pid);
}

SEC("raw_tp/sched_process_exit")
int process_exit(void *ctx)
{
	struct task_struct *task = current_task(), *leader = TASK_READ(task, group_leader);
	struct signal_struct *signal = TASK_READ(task, signal);
	__u32 pid = current_process_number(task);
	bool has_entry = bpf_map_lookup_elem(&processes, &pid);

	save_exit_stack(task, has_entry);
	/*
	 * The count of live threads was decremented before. If the last two threads exit at once, both
	 * see 0 and both send an event; user space ignores the second one.
	 */
	if (TASK_READ(signal, live.counter) > 0 || !user_space_may_know(leader, pid, has_entry))
		return 0;
	return process_event_current(leader, pid, PROCESS_EVENT_EXIT, 0);
}
