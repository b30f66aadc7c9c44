/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Process events, on a ring of their own, so that a flood of samples cannot starve them.
 */
#ifndef EBPF_PROCESS_EVENTS_BPF_H
#define EBPF_PROCESS_EVENTS_BPF_H

#include "ebpf/maps.bpf.h"
#include "ebpf/task.bpf.h"

enum {
	/** An event that is not urgent wakes user space if the ring is fuller than 1/PROCESS_EVENTS_WAKE_UP_FRACTION. */
	PROCESS_EVENTS_WAKE_UP_FRACTION = 4,
};

static __always_inline __u64 process_event_flags(bool is_urgent)
{
	__u64 size = bpf_ringbuf_query(&process_events, BPF_RB_RING_SIZE);

	if (is_urgent || bpf_ringbuf_query(&process_events, BPF_RB_AVAIL_DATA) >
				 size / PROCESS_EVENTS_WAKE_UP_FRACTION)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/*
 * False if the ring was full. An urgent event wakes user space at once. Others are read with the next
 * samples, since processes that are never sampled do not matter.
 */
static __always_inline bool send_process_event(const struct process_event *process_event,
					       bool is_urgent)
{
	if (bpf_ringbuf_output(&process_events, (void *)process_event, sizeof(*process_event),
			       process_event_flags(is_urgent))) {
		count(COUNTER_PROCESS_EVENTS_LOST);
		return false;
	}
	count(COUNTER_PROCESS_EVENTS);
	return true;
}

/*
 * Sends an event for a sample of @task that lacked a process entry or a mapping. Skips it if the same event was
 * sent before and user space has not deleted it from `notified`.
 */
static __always_inline void send_process_event_once(struct task_struct *task, __u32 type, __u32 pid,
						    const struct process_identity *identity,
						    __u64 address)
{
	struct notified *last = bpf_map_lookup_elem(&notified, &pid);
	struct notified sent = { .identity = *identity, .type = type };
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct task_struct *parent = BPF_CORE_READ(leader, real_parent);
	struct process_event process_event = {
		.type = type,
		.pid = pid,
		.identity = *identity,
		.time_ns = bpf_ktime_get_ns(),
		.address = address,
	};

	if (last && last->type == type && identity_equal(&last->identity, identity))
		return;
	process_event.parent_pid = task_process_number(parent);
	process_event.is_fork = is_fork_of(task, leader, parent);
	if (send_process_event(&process_event, true))
		bpf_map_update_elem(&notified, &pid, &sent, BPF_ANY);
}

#endif
