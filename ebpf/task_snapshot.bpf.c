// SPDX-License-Identifier: GPL-2.0-only
/*
 * task_snapshot: every process as struct task_snapshot, for the agent's start
 * enter: iter/task, when user space reads the iterator; once a task of the reader's pid namespace
 * leave: by return
 * reads: the task only
 * bound: no loops
 */
#include "ebpf/task.bpf.h"

static long (*const seq_write)(struct seq_file *seq, const void *data,
			       __u32 bytes) = (void *)BPF_FUNC_seq_write;

SEC("iter/task")
int task_snapshot(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct task_snapshot snapshot = {};

	if (!task || BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return 0;
	snapshot.pid = task_process_number(task);
	if (!snapshot.pid)
		return 0;
	snapshot.identity = leader_identity(task);
	snapshot.is_kernel_thread = is_kernel_thread(BPF_CORE_READ(task, flags));
	seq_write(seq, &snapshot, sizeof(snapshot));
	return 0;
}
