/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The kernel's types, with only the fields that the programs read: libbpf changes every access to the
 * field's offset in the running kernel (CO-RE). Fields that differ between kernels are noted.
 */
#ifndef EBPF_KERNEL_TYPES_BPF_H
#define EBPF_KERNEL_TYPES_BPF_H

#include <linux/types.h>

/* Bits of task_struct.flags: macros in the kernel, so not in its BTF. */
enum task_flag {
	TASK_IO_WORKER = 0x00000010,
	TASK_FORKED_WITHOUT_EXEC = 0x00000040,
	/* Since 6.4; another meaning before (is_kernel_thread() in task.bpf.h). */
	TASK_USER_WORKER = 0x00004000,
	TASK_KERNEL_THREAD = 0x00200000,
};

/* enum pid_type of the kernel: signal_struct.pids[1] is the thread group's. */
enum {
	PID_TYPE_THREAD_GROUP = 1,
};

/* Bits of vm_area_struct.vm_flags. */
enum area_flag {
	AREA_EXECUTABLE = 0x00000004,
};

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

typedef struct {
	int counter;
} atomic_t;

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct signal_struct {
	atomic_t live;
	struct pid *pids[4];
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr;
	unsigned long xol_vaddr;
};

struct file;

struct mm_struct {
	unsigned long exec_vm;
	unsigned long start_code;
	unsigned long start_stack;
	struct file *exe_file;
};

struct vm_operations_struct;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	const struct vm_operations_struct *vm_ops;
};

/* The program's thread pointer, as of the last switch to the task or the last time that the task set it. */
#ifdef __TARGET_ARCH_arm64
struct thread_registers {
	unsigned long tp_value;
};

struct thread_struct {
	struct thread_registers uw;
};
#else
struct thread_struct {
	unsigned long fsbase;
};
#endif

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct list_head {
	struct list_head *next;
};

/* The states of a task: one for each controller, and a list with its cgroup in each hierarchy. */
struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct list_head cgrp_links;
	/* The group of version 2. */
	struct cgroup *dfl_cgrp;
};

/* An element of cgrp_links. */
struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
};

/* Time that a task has run, in all and when it was picked last; tasks of real-time classes have only the former. */
struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 prev_sum_exec_runtime;
};

struct task_struct {
	void *stack;
	unsigned int flags;
	unsigned int in_execve : 1;
	struct mm_struct *mm;
	/* Not 0 from the moment on at which the task is about to run for the last time. */
	int exit_state;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_time;
	__u64 self_exec_id;
	char comm[16];
	struct signal_struct *signal;
	struct uprobe_task *utask;
	struct css_set *cgroups;
	struct sched_entity se;
	struct thread_struct thread;
};

struct inode {
	unsigned long i_ino;
	long long i_size;
};

struct address_space {
	struct inode *host;
};

/*
 * Fields of a large folio: a word of its second page that refers to the first one, and the number of its pages, which had another
 * name in older kernels.
 */
struct folio {
	unsigned long _head_1;
	unsigned int _nr_pages;
	unsigned int _folio_nr_pages;
};

/* user_worker exists since 6.4. */
struct kernel_clone_args {
	__u32 user_worker : 1;
};

/*
 * Only its size and its id are used: it depends on the architecture and on the kernel. Its first words
 * are the registers, at the same offsets in all kernels.
 */
struct pt_regs {
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

#endif
