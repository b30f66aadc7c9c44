/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Notices about processes, on a ring of their own, so that a flood of samples cannot starve them.
 */
#ifndef EBPF_PROCESS_NOTICES_BPF_H
#define EBPF_PROCESS_NOTICES_BPF_H

#include "ebpf/maps.bpf.h"
#include "ebpf/task.bpf.h"

/* False if the ring was full. Always wakes user space: processes are read within milliseconds. */
static __always_inline bool send_notice(struct task_struct *task, __u32 type, __u32 pid,
					const struct process_stamp *stamp, __u64 address)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct process_notice notice = {
		.type = type,
		.pid = pid,
		.stamp = *stamp,
		.address = address,
		.parent_pid = task_process_number(BPF_CORE_READ(leader, real_parent)),
	};

	BPF_CORE_READ_INTO(&notice.comm, leader, comm);
	if (bpf_ringbuf_output(&notices, &notice, sizeof(notice), BPF_RB_FORCE_WAKEUP)) {
		count(COUNTER_NOTICES_LOST);
		return false;
	}
	count(COUNTER_NOTICES);
	return true;
}

/* As send_notice(), but nothing if user space was told and has not asked to be told again. */
static __always_inline void send_notice_once(struct task_struct *task, __u32 type, __u32 pid,
					     const struct process_stamp *stamp, __u64 address)
{
	struct notified *last = bpf_map_lookup_elem(&notified, &pid);
	struct notified told = { .stamp = *stamp, .type = type };

	if (last && last->type == type && stamp_equal(&last->stamp, stamp))
		return;
	if (send_notice(task, type, pid, stamp, address))
		bpf_map_update_elem(&notified, &pid, &told, BPF_ANY);
}

#endif
