/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The tables of ebpf/abi/costs.h: the running task's row, the row of a process, and what is added to it. The maps' sizes are set by
 * the loader.
 *
 *	map            written by              read by
 *	cost_cpus      programs of the CPU     these, user space
 *	cost_rows      programs of the CPU     these, user space
 *	cost_index     programs of the CPU     these
 *	cost_events    user space              programs of the CPU
 */
#ifndef EBPF_COSTS_COST_ROWS_BPF_H
#define EBPF_COSTS_COST_ROWS_BPF_H

#include "ebpf/abi/costs.h"
#include "ebpf/task.bpf.h"

extern const volatile struct cost_config cost_config;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cost_cpu);
} cost_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cost_row);
} cost_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cost_bucket);
} cost_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} cost_events SEC(".maps");

/*
 * Reads a field of @task. Arguments of programs of the type tp_btf have a type, and a load is enough; others are read
 * by bpf_probe_read_kernel().
 */
#define COST_READ(is_typed, task, field) ((is_typed) ? (task)->field : BPF_CORE_READ(task, field))

static __always_inline struct cost_cpu *cost_cpu_at(__u32 number)
{
	return bpf_map_lookup_elem(&cost_cpus, &number);
}

static __always_inline struct cost_row *cost_row_at(__u32 number)
{
	return bpf_map_lookup_elem(&cost_rows, &number);
}

static __always_inline __u32 first_row(const struct cost_cpu *cpu)
{
	return cpu->table * cost_config.row_count;
}

/* The row of the running task; NULL if the CPU was not ticked yet. */
static __always_inline struct cost_row *current_row(void)
{
	struct cost_cpu *cpu = cost_cpu_at(bpf_get_smp_processor_id());

	return cpu && cpu->accounted_ns ? cost_row_at(cpu->current_row) : NULL;
}

/* @value, as far as an event counted: it was enabled and running for these times since it was read last. */
static __always_inline __u64 counted_part(__u64 value, __u64 enabled_ns, __u64 running_ns)
{
	if (running_ns >= enabled_ns)
		return value;
	/* A product of two times overflows from 4 s on. */
	return value * (running_ns * COST_WHOLE / enabled_ns) / COST_WHOLE;
}

/* Adds the count of an event until @now_count, of which the kernel counted @counted_ns. */
static __always_inline void add_count(struct cost_counter *counter, struct cost_event_value *last,
				      __u64 now_count, __u64 counted_ns)
{
	/* The event of a CPU that was offline is opened again, and begins with 0. */
	if (counter && now_count >= last->count) {
		counter->count += now_count - last->count;
		counter->counted_ns += counted_ns;
	}
	last->count = now_count;
}

/*
 * Reads the count of event @i, with the times for which the kernel counted it, and adds it to @row. @row may be NULL, for a first
 * reading.
 */
static __always_inline void add_counter_with_times(__u32 key, struct cost_cpu *cpu, __u32 i,
						   struct cost_row *row, __u64 run_time_ns)
{
	struct cost_event_value *last = &cpu->events[i];
	struct bpf_perf_event_value now = {};
	__u64 enabled_ns, running_ns;
	bool is_shared = cpu->shared_counters & 1U << i;

	if (bpf_perf_event_read_value(&cost_events, key, &now, sizeof(now)))
		return;
	enabled_ns = now.enabled - last->enabled_ns;
	running_ns = now.running - last->running_ns;
	if (now.enabled < last->enabled_ns)
		running_ns = enabled_ns = 0;
	if (running_ns < enabled_ns)
		cpu->found_shared |= 1U << i;
	/* The times of an event that is not shared were read at the last tick: they are those of all rows. */
	cpu->counted_parts[i] = is_shared ? COST_WHOLE :
					    counted_part(COST_WHOLE, enabled_ns, running_ns);
	add_count(row ? &row->counters[i] : NULL, last, now.counter,
		  is_shared ? counted_part(run_time_ns, enabled_ns, running_ns) : run_time_ns);
	last->enabled_ns = now.enabled;
	last->running_ns = now.running;
}

/*
 * Adds to @row what the events have counted since they were read last. The times for which the kernel counted take the clock to read, so
 * they are read at a switch only if they differed before the last tick.
 */
static __always_inline void add_counters(__u32 number, struct cost_cpu *cpu, struct cost_row *row,
					 __u64 run_time_ns, bool is_tick)
{
	for (__u32 i = 0; i < COST_COUNTER_COUNT; i++) {
		__u32 key = number * COST_COUNTER_COUNT + i;
		__s64 now_count;

		if (!(cost_config.counters & 1U << i))
			continue;
		if (is_tick || cpu->shared_counters & 1U << i) {
			add_counter_with_times(key, cpu, i, row, run_time_ns);
			continue;
		}
		now_count = bpf_perf_event_read(&cost_events, key);
		if (now_count >= 0)
			add_count(row ? &row->counters[i] : NULL, &cpu->events[i], now_count,
				  run_time_ns);
	}
}

/* Adds the time up to @now_ns, and the counters, to the row of the running task. */
static __always_inline struct cost_row *account(__u32 number, struct cost_cpu *cpu, __u64 now_ns,
						bool is_tick)
{
	struct cost_row *row = cost_row_at(cpu->current_row);
	__u64 run_time_ns = now_ns - cpu->accounted_ns;

	if (row)
		row->run_time_ns += run_time_ns;
	add_counters(number, cpu, row, run_time_ns, is_tick);
	cpu->accounted_ns = now_ns;
	return row;
}

static __always_inline void clear_row(struct cost_row *row)
{
	__builtin_memset(row, 0, sizeof(*row));
	row->index = COST_NO_INDEX;
}

/* Writes a new row for the process of @task. */
static __always_inline void describe_row(struct cost_row *row, struct task_struct *task,
					 const struct cost_key *key, __u32 index)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	clear_row(row);
	row->key.start_time_ns = key->start_time_ns;
	row->key.id = key->id;
	row->key.pid = task_process_number(task);
	row->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	row->flags = is_kernel_thread(BPF_CORE_READ(task, flags)) ? COST_KERNEL_THREAD : 0;
	bpf_core_read(row->comm, sizeof(row->comm), &leader->comm);
	row->index = index;
}

static __always_inline __u32 bucket_of(const struct cost_key *key)
{
	const __u64 multiplier = 0x9e3779b97f4a7c15ULL;

	return ((key->start_time_ns ^ key->id) * multiplier >> 40) & (cost_config.bucket_count - 1);
}

/* Returns the row of the process of @task in the current table; a new one if it has none there. */
static __always_inline __u32 find_row(struct cost_cpu *cpu, struct task_struct *task,
				      const struct cost_key *key)
{
	const __u32 first = first_row(cpu), bucket_number = bucket_of(key);
	__u32 bucket_key = cpu->table * cost_config.bucket_count + bucket_number;
	struct cost_bucket *bucket = bpf_map_lookup_elem(&cost_index, &bucket_key);
	struct cost_row *row;
	__u32 entry;

	if (!bucket)
		return first + COST_ROW_UNFITTED;
	for (entry = 0; entry < COST_BUCKET_ENTRIES; entry++) {
		__u32 number = bucket->rows[entry];

		if (number >= cpu->row_count)
			break;
		row = cost_row_at(first + number);
		if (!row || row->index != bucket_number * COST_BUCKET_ENTRIES + entry)
			break;
		if (row->key.start_time_ns == key->start_time_ns && row->key.id == key->id)
			return first + number;
	}
	if (entry >= COST_BUCKET_ENTRIES || cpu->row_count >= cost_config.row_count)
		return first + COST_ROW_UNFITTED;
	row = cost_row_at(first + cpu->row_count);
	if (!row)
		return first + COST_ROW_UNFITTED;
	describe_row(row, task, key, bucket_number * COST_BUCKET_ENTRIES + entry);
	bucket->rows[entry] = cpu->row_count;
	return first + cpu->row_count++;
}

/* Makes the row of the process of @task the current one. */
static __always_inline void enter_row(struct cost_cpu *cpu, struct task_struct *task, bool is_typed)
{
	struct cost_key key = { .id = COST_READ(is_typed, task, tgid) };
	struct cost_row *row = cost_row_at(cpu->current_row);
	struct task_struct *leader;
	__u32 number;

	/* The idle tasks of all CPUs have the number 0. */
	if (!key.id) {
		cpu->current_row = first_row(cpu) + COST_ROW_IDLE;
		return;
	}
	leader = COST_READ(is_typed, task, group_leader);
	key.start_time_ns = COST_READ(is_typed, leader, start_time);
	/* Another thread of the process that ran last. The row is in the finished table after a tick. */
	number = cpu->current_row - first_row(cpu);
	if (row && number >= COST_ROW_FIRST && number < cpu->row_count && row->key.id == key.id &&
	    row->key.start_time_ns == key.start_time_ns)
		return;
	cpu->current_row = find_row(cpu, task, &key);
	row = cost_row_at(cpu->current_row);
	if (row)
		row->run_count++;
}

#endif
