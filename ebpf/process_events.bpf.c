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

static __always_inline int process_event_current(struct task_struct *task, __u32 type,
						 __u64 address)
{
	struct process_event process_event = {
		.type = type,
		.pid = task_process_number(task),
		.identity = leader_identity(BPF_CORE_READ(task, group_leader)),
		.time_ns = bpf_ktime_get_ns(),
		.address = address,
	};

	if (process_event.pid)
		send_process_event(&process_event, false);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int process_exec(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return process_event_current(task, PROCESS_EVENT_EXEC, BPF_CORE_READ(task, mm, start_code));
}

SEC("raw_tp/sched_process_exit")
int process_exit(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	save_exit_stack(task);
	/*
	 * The count of live threads was decremented before. If the last two threads exit at once, both
	 * see 0 and both send an event; user space ignores the second one.
	 */
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	return process_event_current(task, PROCESS_EVENT_EXIT, 0);
}
