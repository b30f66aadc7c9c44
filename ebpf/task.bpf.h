/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The identity of a task: its pid in the agent's own namespace, its process's identity, its kind. Tasks are
 * read with bpf_probe_read_kernel(): any pointer here may be stale, and then yields zeroes.
 */
#ifndef EBPF_TASK_BPF_H
#define EBPF_TASK_BPF_H

#include "ebpf/abi/config.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/kernel_types.bpf.h"

extern const volatile struct agent_config config;

/*
 * Reads a field of @task, which is current_task() or a task that it points to. Where the kernel has typed
 * pointers a load is enough, which saves a call of bpf_probe_read_kernel() for each field.
 */
#define TASK_READ(task, field)                                                                     \
	(config.have_task_pt_regs ? (task)->field : BPF_CORE_READ(task, field))

static __always_inline struct task_struct *current_task(void)
{
	if (config.have_task_pt_regs)
		return (struct task_struct *)bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* Reads the thread pointer, the base of thread-local storage: fs base, tpidr_el0. */
static __always_inline __u64 read_thread_pointer(void)
{
	struct task_struct *task = current_task();

#ifdef __TARGET_ARCH_arm64
	return TASK_READ(task, thread.uw.tp_value);
#else
	return TASK_READ(task, thread.fsbase);
#endif
}

/* Returns @pid's number in the agent's pid namespace; 0 if it has none there. */
static __always_inline __u32 pid_number(struct pid *pid)
{
	__u32 level = config.pid_namespace_level;
	struct upid *upid;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	upid = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
	if (BPF_CORE_READ(upid, ns, ns.inum) != config.pid_namespace_inode)
		return 0;
	return BPF_CORE_READ(upid, nr);
}

static __always_inline __u32 task_process_number(struct task_struct *task)
{
	/* In the initial namespace, where agents mostly are, the numbers are in the task itself. */
	if (config.pid_namespace_level == 0)
		return BPF_CORE_READ(task, tgid);
	return pid_number(BPF_CORE_READ(task, signal, pids[PID_TYPE_THREAD_GROUP]));
}

/* task_process_number() of current_task(). */
static __always_inline __u32 current_process_number(struct task_struct *task)
{
	if (config.pid_namespace_level == 0)
		return TASK_READ(task, tgid);
	return task_process_number(task);
}

static __always_inline __u32 current_thread_number(struct task_struct *task)
{
	if (config.pid_namespace_level == 0)
		return TASK_READ(task, pid);
	return pid_number(BPF_CORE_READ(task, thread_pid));
}

/* @comm is a string, 8-byte aligned; bytes behind its end may be of an earlier name. */
static __always_inline void read_current_comm(struct task_struct *task, char comm[COMM_BYTES])
{
	const __u64 *from = (const void *)task->comm;
	__u64 *to = (void *)comm;

	if (!config.have_task_pt_regs) {
		bpf_get_current_comm(comm, COMM_BYTES);
		return;
	}
	for (int i = 0; i < COMM_BYTES / 8; i++)
		to[i] = from[i];
}

static __always_inline struct process_identity leader_identity(struct task_struct *leader)
{
	struct process_identity identity = {
		.start_time_ns = BPF_CORE_READ(leader, start_time),
		.exec_id = BPF_CORE_READ(leader, self_exec_id),
	};

	return identity;
}

/* leader_identity() of the leader of current_task(). */
static __always_inline struct process_identity current_identity(struct task_struct *leader)
{
	struct process_identity identity = {
		.start_time_ns = TASK_READ(leader, start_time),
		.exec_id = TASK_READ(leader, self_exec_id),
	};

	return identity;
}

/*
 * True if the process of @task, whose leader is @leader, is a fork of @parent without an exec of its own, and
 * @parent still runs the same program. Every exec opens its program's file again, so two processes with the same
 * open file run the program of one exec. A child whose parent has exited has another parent now, which may be its
 * grandparent: code that was mapped between the two forks shows in the size of the code (exec_vm).
 */
static __always_inline bool is_fork_of(struct task_struct *task, struct task_struct *leader,
				       struct task_struct *parent)
{
	struct file *program = BPF_CORE_READ(task, mm, exe_file);

	return BPF_CORE_READ(leader, flags) & TASK_FORKED_WITHOUT_EXEC && program &&
	       BPF_CORE_READ(parent, mm, exe_file) == program &&
	       BPF_CORE_READ(parent, mm, exec_vm) == BPF_CORE_READ(task, mm, exec_vm) &&
	       BPF_CORE_READ(parent, self_exec_id) == BPF_CORE_READ(leader, self_exec_id);
}

static __always_inline bool identity_equal(const struct process_identity *a,
					   const struct process_identity *b)
{
	return a->start_time_ns == b->start_time_ns && a->exec_id == b->exec_id;
}

/* True for threads that run only kernel code and so have no user registers. */
static __always_inline bool is_kernel_thread(__u32 task_flags)
{
	if (task_flags & (TASK_KERNEL_THREAD | TASK_IO_WORKER))
		return true;
	return task_flags & TASK_USER_WORKER &&
	       bpf_core_field_exists(struct kernel_clone_args, user_worker);
}

#endif
