// SPDX-License-Identifier: GPL-2.0-only
/*
 * process_fork, process_free
 * enter: raw tracepoints sched_process_fork (parent, child), before the child runs, and sched_process_free (task), when
 *        the kernel frees a task, which nobody can sample any more
 * leave: by return
 * reads: the tasks; selected_pids, written by user space
 * bound: no loops
 */
#include "ebpf/selection.bpf.h"

SEC("raw_tp/sched_process_fork")
int process_fork(void *ctx)
{
	const __u64 *arguments = ctx;
	struct task_struct *parent = (struct task_struct *)arguments[0];
	struct task_struct *child = (struct task_struct *)arguments[1];
	struct task_struct *leader = BPF_CORE_READ(parent, group_leader);
	__u32 id = BPF_CORE_READ(child, tgid), parent_id = BPF_CORE_READ(parent, tgid);
	__u32 parent_pid = task_process_number(parent);
	__u64 start_time_ns = BPF_CORE_READ(child, start_time);

	/* A new thread. */
	if (id == parent_id)
		return 0;
	if (!bpf_map_lookup_elem(&selected_pids, &parent_pid) &&
	    !is_followed(parent_id, BPF_CORE_READ(leader, start_time)))
		return 0;
	if (bpf_map_update_elem(&followed, &id, &start_time_ns, BPF_ANY))
		count(COUNTER_UNFOLLOWED);
	return 0;
}

SEC("raw_tp/sched_process_free")
int process_free(void *ctx)
{
	const __u64 *arguments = ctx;
	struct task_struct *task = (struct task_struct *)arguments[0];
	__u32 id = BPF_CORE_READ(task, tgid);

	/* Only the leader of a process has its id, also a leader that another thread has replaced by an exec. */
	if (BPF_CORE_READ(task, pid) == (int)id && is_followed(id, BPF_CORE_READ(task, start_time)))
		bpf_map_delete_elem(&followed, &id);
	return 0;
}
