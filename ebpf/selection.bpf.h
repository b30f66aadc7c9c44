/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The selection of processes: all, or those that the options name. A process that a selected one has started
 * is found by its thread group id and its start time, so that one which gets the id later is not taken for it.
 */
#ifndef EBPF_SELECTION_BPF_H
#define EBPF_SELECTION_BPF_H

#include "ebpf/task.bpf.h"

/* True if @start_time_ns is that of the followed process with the thread group id @id of the initial namespace. */
static __always_inline bool is_followed(__u32 id, __u64 start_time_ns)
{
	__u64 *followed_ns = bpf_map_lookup_elem(&followed, &id);

	return followed_ns && *followed_ns == start_time_ns;
}

static __always_inline bool is_selected_by_pid(struct task_struct *leader, __u32 pid)
{
	if (!config.select_pids || bpf_map_lookup_elem(&selected_pids, &pid))
		return true;
	return config.follow_children &&
	       is_followed(TASK_READ(leader, tgid), TASK_READ(leader, start_time));
}

/* Groups above that of a task that are looked at. */
#define CGROUP_LEVELS_MAX 16

/* Hierarchies that are looked at: one for each controller of version 1, systemd's, and that of version 2. */
#define CGROUP_HIERARCHIES_MAX 32

/* The task's state for the controller. */
static __always_inline struct cgroup_subsys_state *state_of_controller(struct css_set *groups)
{
	struct cgroup_subsys_state *state = NULL;
	const void *slot = (const void *)groups + bpf_core_field_offset(struct css_set, subsys) +
			   config.cgroup_controller * sizeof(void *);

	bpf_probe_read_kernel(&state, sizeof(state), slot);
	return state;
}

/* The state of the task's group in the hierarchy, which has no controller. */
static __always_inline struct cgroup_subsys_state *state_of_hierarchy(struct css_set *groups)
{
	struct list_head *link = BPF_CORE_READ(groups, cgrp_links.next);
	const void *end = (const void *)groups + bpf_core_field_offset(struct css_set, cgrp_links);

	for (int i = 0; i < CGROUP_HIERARCHIES_MAX && link && link != end; i++) {
		struct cgrp_cset_link *one =
			(void *)link - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);
		struct cgroup *group = BPF_CORE_READ(one, cgrp);

		if (BPF_CORE_READ(group, root, hierarchy_id) == (int)config.cgroup_controller)
			return (void *)group + bpf_core_field_offset(struct cgroup, self);
		link = BPF_CORE_READ(link, next);
	}
	return NULL;
}

static __always_inline bool is_below_cgroup_v1(struct task_struct *task)
{
	struct css_set *groups = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = config.select_cgroup == SELECT_CGROUP_NAMED ?
						    state_of_hierarchy(groups) :
						    state_of_controller(groups);

	for (int i = 0; i < CGROUP_LEVELS_MAX && state; i++) {
		struct cgroup *group = BPF_CORE_READ(state, cgroup);

		if (BPF_CORE_READ(group, kn, id) == config.cgroup_id)
			return true;
		state = BPF_CORE_READ(group, self.parent);
	}
	return false;
}

static __always_inline bool is_selected_by_cgroup(struct task_struct *task)
{
	switch (config.select_cgroup) {
	case SELECT_CGROUP_V2:
		return bpf_current_task_under_cgroup(&selected_cgroup, 0) == 1;
	case SELECT_CGROUP_V1:
	case SELECT_CGROUP_NAMED:
		return is_below_cgroup_v1(task);
	default:
		return true;
	}
}

/* @task: the current one. @leader: its leader, whose process has the number @pid in the agent's namespace, or 0. */
static __always_inline bool is_selected(struct task_struct *task, struct task_struct *leader,
					__u32 pid)
{
	char comm[COMM_BYTES] = {};

	if (!pid)
		return false;
	if (!is_selected_by_pid(leader, pid))
		return false;
	if (!is_selected_by_cgroup(task))
		return false;
	if (config.select_user && (__u32)bpf_get_current_uid_gid() != config.user)
		return false;
	if (!config.select_comm)
		return true;
	/* Copies up to the end of the name: bytes behind it may be of an earlier one. */
	BPF_CORE_READ_STR_INTO(&comm, leader, comm);
	return bpf_map_lookup_elem(&selected_comms, comm);
}

#endif
