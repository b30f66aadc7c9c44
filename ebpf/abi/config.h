/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The configuration of the kernel programs: the read-only variable `config`, which user space sets once, before it
 * loads them. The verifier drops the code of features that are off.
 */
#ifndef EBPF_ABI_CONFIG_H
#define EBPF_ABI_CONFIG_H

#include <linux/types.h>

#include "ebpf/abi/process.h"

enum {
	SELECTED_PIDS_MAX = 1024,
	SELECTED_COMMS_MAX = 64,
};

enum cgroup_selection {
	SELECT_ALL_CGROUPS,
	/** Only tasks below the cgroup in element 0 of `selected_cgroup`. */
	SELECT_CGROUP_V2,
	/** Only tasks below the cgroup with the id `cgroup_id` in the hierarchy of the controller `cgroup_controller`. */
	SELECT_CGROUP_V1,
	/** The same in the hierarchy with this number, which has no controller, as systemd's own. */
	SELECT_CGROUP_NAMED,
};

struct agent_config {
	/** Level and inode number of the agent's pid namespace; level 0 is the initial one. */
	__u32 pid_namespace_level;
	__u32 pid_namespace_inode;
	/** 1: only pids in the hash `selected_pids` (key __u32 pid, value __u8). */
	__u8 select_pids;
	/** 1: only processes whose leader's comm is in the hash `selected_comms` (key char[COMM_BYTES], value __u8). */
	__u8 select_comm;
	/** enum cgroup_selection */
	__u8 select_cgroup;
	/** 1: bpf_task_pt_regs() can be used; else the registers are found from the stack's end. */
	__u8 have_task_pt_regs;
	/** 1: bpf_rdonly_cast() can be used, and have_task_pt_regs is 1. */
	__u8 have_casts;
	/** 1: samples get the id that the runtime has given to the work (Go: the goroutine's). */
	__u8 with_task_ids;
	/** 1: what the selected pids start is selected too, and what that starts. */
	__u8 follow_children;
	/** 1: only tasks whose real user id is `user`. */
	__u8 select_user;
	/** Size of a kernel stack, and of the free part above the registers at its end. */
	__u32 kernel_stack_bytes;
	__u32 kernel_stack_padding_bytes;
	/**
	 * cgroups of version 1: the group's id, which is the inode number of its directory, and the number of its controller or
	 * of its hierarchy.
	 */
	__u64 cgroup_id;
	__u32 cgroup_controller;
	__u32 user;
};

_Static_assert(sizeof(struct agent_config) == 40, "struct agent_config is ABI");

#endif
