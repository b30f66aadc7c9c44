/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Costs of each process, counted by the kernel programs of ebpf/costs/: the rows that they write and user space reads.
 *
 * Every CPU has two tables of rows, a row for each process that ran on it. The programs of a CPU add to one table, and nobody
 * else writes to it, so nothing is locked. The program cost_tick, which user space runs on each CPU once in an interval, accounts
 * the running task up to now and makes the CPU go on with the other table. When no program that began before can still run
 * (an RCU grace period later), user space reads the finished table. It clears nothing: a row is set to 0 when a process gets it.
 *
 * A row is found by the hash of its process: a bucket of the table's index has the numbers of rows, and an entry is valid if its row
 * is in use and refers back to the entry. So an index is not cleared either.
 */
#ifndef EBPF_ABI_COSTS_H
#define EBPF_ABI_COSTS_H

#include <linux/types.h>

#include "ebpf/abi/process.h"

enum {
	/** Tables of a CPU: table 2 * CPU, and the next one. */
	COST_TABLES_PER_CPU = 2,
	/** The first two rows of each table: the idle task, and the processes for which the table has no room. */
	COST_ROW_IDLE = 0,
	COST_ROW_UNFITTED = 1,
	COST_ROW_FIRST = 2,
	/** Entries of a bucket of the index. A table has half as many buckets as rows. */
	COST_BUCKET_ENTRIES = 8,
	COST_ROWS_MIN = 256,
	COST_ROWS_MAX = 2048,
	/** `index` of rows without an entry. */
	COST_NO_INDEX = 0xffffffff,
	/** Vectors of softirqs, of include/linux/interrupt.h: HI, TIMER ... RCU. */
	COST_SOFTIRQ_COUNT = 10,
	/** Counters of perf events. */
	COST_COUNTER_COUNT = 5,
	/** Parts of the time, in `counted_parts`: all of it. */
	COST_WHOLE = 1024,
};

/** The counters: those of the CPU, and the kernel's count of page faults, which only -weight page-faults wants. */
enum cost_counter_index {
	COST_CYCLES,
	COST_REFERENCE_CYCLES,
	COST_INSTRUCTIONS,
	COST_CACHE_MISSES,
	COST_PAGE_FAULTS,
};

/** Costs that only some machines count. Run time and softirqs are always counted. */
enum cost_source {
	COST_PAGE_READS = 1 << 0,
	COST_PAGE_WRITES = 1 << 1,
	/** The first of COST_COUNTER_COUNT bits. */
	COST_FIRST_COUNTER = 1 << 2,
};

enum cost_flag {
	COST_KERNEL_THREAD = 1,
	/** The last thread of the process has run for the last time. */
	COST_ENDED = 2,
};

/** A counter of a perf event, for the time in which a process ran. */
struct cost_counter {
	__u64 count;
	/**
	 * The part of the run time in which the kernel counted; it is less where more events were wanted than there are counters. To be
	 * multiplied by the CPU's `counted_parts`.
	 */
	__u64 counted_ns;
};

/** Key of a row: a process from its fork to its end. */
struct cost_key {
	/** task_struct.start_time of the leader, CLOCK_MONOTONIC, ns. */
	__u64 start_time_ns;
	/** Thread group id in the initial pid namespace. */
	__u32 id;
	/** Its number in the agent's pid namespace; 0: it has none there. */
	__u32 pid;
};

struct cost_row {
	struct cost_key key;
	/** Id of the cgroup of version 2, which is the inode number of its directory. */
	__u64 cgroup_id;
	/** Name of the leader. */
	char comm[COMM_BYTES];
	/** CLOCK_MONOTONIC, including the time of interrupts and what a hypervisor took. */
	__u64 run_time_ns;
	__u64 page_reads;
	__u64 page_writes;
	/** How often the CPU switched to a thread of it from another process. */
	__u32 run_count;
	/** enum cost_flag */
	__u32 flags;
	/** The entry of the index that refers to this row: COST_BUCKET_ENTRIES * bucket + entry. */
	__u32 index;
	__u32 softirqs[COST_SOFTIRQ_COUNT];
	/** The last read of the page cache: a hash of its inode number and its last page, and the page from which on it went on. */
	__u32 read_signature;
	__u32 read_page;
	__u32 reserved;
	struct cost_counter counters[COST_COUNTER_COUNT];
};

_Static_assert(sizeof(struct cost_row) == 208, "struct cost_row is ABI");

struct cost_bucket {
	__u16 rows[COST_BUCKET_ENTRIES];
};

/** A perf event's count when it was last read, and its times at the last tick. */
struct cost_event_value {
	__u64 count;
	__u64 enabled_ns;
	__u64 running_ns;
};

/** State of a CPU. Its programs alone write it, with interrupts off but for `current_row`, which others read. */
struct cost_cpu {
	/** Since when the current table counts, and up to when all is accounted. 0: the CPU was not ticked yet. */
	__u64 begin_ns;
	__u64 accounted_ns;
	/** Times of the table that was finished last. */
	__u64 finished_begin_ns;
	__u64 finished_end_ns;
	/** Its number, and its rows in use. */
	__u32 finished_table;
	__u32 finished_row_count;
	/** The current table's number, and its rows in use. */
	__u32 table;
	__u32 row_count;
	/** The row of the running task, counted over all tables. */
	__u32 current_row;
	/**
	 * Bit i: the kernel counted event i for a part of the time only, since more were wanted than there are counters. Found before
	 * the last tick, when `events` has the times of the last switch; and since then.
	 */
	__u16 shared_counters;
	__u16 found_shared;
	struct cost_event_value events[COST_COUNTER_COUNT];
	/** The part of `counted_ns` in which the kernel did count, for all rows of the finished table; COST_WHOLE: all. */
	__u16 counted_parts[COST_COUNTER_COUNT];
	__u16 padding;
	/** Switches that the tracepoint did not show: the task that went was not the one that had come. */
	__u32 missed_switches;
};

_Static_assert(sizeof(struct cost_cpu) == 192, "struct cost_cpu fills whole cache lines");

/** The read-only variable `cost_config`, which user space sets before it loads the programs. */
struct cost_config {
	/** Rows of a table and buckets of its index; powers of 2. */
	__u32 row_count;
	__u32 bucket_count;
	/** Bit i: there is counter i. Its events are in the array `cost_events`, at COST_COUNTER_COUNT * CPU + i. */
	__u32 counters;
	/** Bit i: `shared_counters` always has the bit, for tests. */
	__u32 shared_counters;
};

#endif
