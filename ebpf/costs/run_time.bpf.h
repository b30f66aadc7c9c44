/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost_switch, cost_switch_raw, cost_tick
 * enter: tp_btf/sched_switch, or the raw tracepoint where the kernel refuses that; cost_tick is run by user space on a given
 *        CPU (BPF_PROG_TEST_RUN), which it interrupts
 * leave: by return
 * reads: the tasks; the perf events in cost_events, opened by user space
 * bound: COST_BUCKET_ENTRIES steps in the index, COST_COUNTER_COUNT counters
 */
#ifndef EBPF_COSTS_RUN_TIME_BPF_H
#define EBPF_COSTS_RUN_TIME_BPF_H

#include "ebpf/costs/cost_rows.bpf.h"

/* Writes to @row that the process has ended, if @task was its last thread, and the name that it had. */
static __always_inline void note_end(struct cost_row *row, struct task_struct *task, bool is_typed)
{
	if (!COST_READ(is_typed, task, exit_state))
		return;
	if (COST_READ(is_typed, task, pid) == COST_READ(is_typed, task, tgid))
		bpf_core_read(row->comm, sizeof(row->comm), &task->comm);
	if (BPF_CORE_READ(task, signal, live.counter) <= 0)
		row->flags |= COST_ENDED;
}

/*
 * Makes the row of @task, which runs, the current one. If it is not, switches since then did not reach the program: threads of
 * process 1 of Firecracker's kernel 6.18 go to sleep without the tracepoint. @task has the time since it was picked, and what the
 * counters have counted; the task that has gone, the time before.
 */
static __always_inline void note_running(struct cost_cpu *cpu, struct task_struct *task,
					 bool is_typed)
{
	__u32 entered = cpu->current_row;
	struct cost_row *row;
	__u64 time_ns, own_ns;

	if (entered == first_row(cpu) + COST_ROW_UNFITTED)
		return;
	enter_row(cpu, task, is_typed);
	if (cpu->current_row == entered)
		return;
	cpu->missed_switches++;
	row = cost_row_at(entered);
	time_ns = bpf_ktime_get_ns() - cpu->accounted_ns;
	own_ns = COST_READ(is_typed, task, se.sum_exec_runtime) -
		 COST_READ(is_typed, task, se.prev_sum_exec_runtime);
	/* The idle task's time is not counted there. */
	if (!row || own_ns > time_ns || !COST_READ(is_typed, task, tgid))
		return;
	row->run_time_ns += time_ns - own_ns;
	cpu->accounted_ns += time_ns - own_ns;
}

static __always_inline int switch_task(struct task_struct *from, struct task_struct *to,
				       bool is_typed)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cost_cpu *cpu = cost_cpu_at(number);
	struct cost_row *row;

	if (!cpu || !cpu->accounted_ns)
		return 0;
	note_running(cpu, from, is_typed);
	/* Between threads of a process nothing changes. */
	if (COST_READ(is_typed, from, group_leader) == COST_READ(is_typed, to, group_leader))
		row = cost_row_at(cpu->current_row);
	else
		row = account(number, cpu, bpf_ktime_get_ns(), false);
	if (row)
		note_end(row, from, is_typed);
	enter_row(cpu, to, is_typed);
	return 0;
}

SEC("tp_btf/sched_switch")
int cost_switch(__u64 *ctx)
{
	return switch_task((struct task_struct *)ctx[1], (struct task_struct *)ctx[2], true);
}

SEC("raw_tp/sched_switch")
int cost_switch_raw(__u64 *ctx)
{
	return switch_task((struct task_struct *)ctx[1], (struct task_struct *)ctx[2], false);
}

static __always_inline void begin_table(struct cost_cpu *cpu)
{
	for (__u32 i = 0; i < COST_ROW_FIRST; i++) {
		struct cost_row *row = cost_row_at(first_row(cpu) + i);

		if (row)
			clear_row(row);
	}
	cpu->row_count = COST_ROW_FIRST;
}

SEC("raw_tp")
int cost_tick(void *ctx)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cost_cpu *cpu = cost_cpu_at(number);
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 now_ns = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	if (cpu->accounted_ns) {
		note_running(cpu, task, false);
		now_ns = bpf_ktime_get_ns();
		account(number, cpu, now_ns, true);
		cpu->finished_row_count = cpu->row_count;
		cpu->shared_counters = cpu->found_shared | cost_config.shared_counters;
	} else {
		add_counters(number, cpu, NULL, 0, true);
		cpu->shared_counters = cost_config.shared_counters;
		cpu->table = number * COST_TABLES_PER_CPU;
		cpu->begin_ns = now_ns;
		cpu->finished_row_count = 0;
	}
	cpu->found_shared = 0;
	cpu->finished_begin_ns = cpu->begin_ns;
	cpu->finished_end_ns = now_ns;
	cpu->finished_table = cpu->table;
	cpu->begin_ns = cpu->accounted_ns = now_ns;
	cpu->table ^= 1;
	begin_table(cpu);
	enter_row(cpu, task, false);
	return 0;
}

#endif
