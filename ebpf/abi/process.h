/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The data of a process for the kernel side: an entry in the hash `processes`, keyed by pid, and a
 * sorted table of its executable mappings in the slabs (abi/slab.h).
 *
 * A pid here is the thread group id in the agent's own pid namespace, which is the number that
 * /proc shows. Tasks outside that namespace are not selected.
 *
 * Identity. A process identity stands for one exec of one process. Every sample computes the identity of its
 * leader and compares it with the entry's; if they differ, the process is unknown. This covers pid
 * reuse, exec, and tables written late: an entry gets the identity of its process event, which user space
 * received before it read the maps. So a mapping table read too early or too late is at worst
 * unused, never wrong.
 *
 * Publishing a process, or a new version of its mappings:
 *	1. write the rows into free cells of the slabs
 *	2. bpf_map_update_elem() of the entry; it replaces the old one at once
 *	3. wait for a grace period (one for all pending), then free the old rows' cells
 * Retiring: delete the entry, then 3.
 *
 * A hash value may be overwritten while a program reads it, since deleted elements are reused at
 * once. Readers copy the entry to their stack, then check its checksum, pid and identity.
 */
#ifndef EBPF_ABI_PROCESS_H
#define EBPF_ABI_PROCESS_H

#include <linux/types.h>

enum {
	PROCESS_MAX_COUNT = 32768,
	PROCESS_MAX_MAPPINGS = 16384,
	COMM_BYTES = 16,
};

/** Identity of a process and of the program in it. Two identities are equal only for the same exec. */
struct process_identity {
	/** task_struct.start_time of the leader, CLOCK_MONOTONIC, ns. */
	__u64 start_time_ns;
	/** task_struct.self_exec_id of the leader; zero-extended where the kernel has 32 bits. */
	__u64 exec_id;
};

struct process_entry {
	struct process_identity identity;
	__u32 pid;
	/** First cell of the mapping table, and its number of rows. */
	__u32 mapping_cell;
	__u32 mapping_count;
	/** First cell of the runtime table (abi/runtime.h); 0: there is none. */
	__u32 runtime_cell;
	/** Different in each published entry, so that a mix of two fails the checksum. */
	__u64 nonce;
	__u64 checksum;
};

_Static_assert(sizeof(struct process_entry) == 48, "struct process_entry is ABI");

/** Computes the checksum over all of @entry except the checksum itself. */
static inline __u64 process_entry_checksum(const struct process_entry *entry)
{
	const __u64 multiplier = 0x9e3779b97f4a7c15ULL;
	__u64 sum = entry->identity.start_time_ns;

	sum = sum * multiplier + entry->identity.exec_id;
	sum = sum * multiplier + ((__u64)entry->pid << 32 | entry->mapping_cell);
	sum = sum * multiplier + ((__u64)entry->mapping_count << 32 | entry->runtime_cell);
	return sum * multiplier + entry->nonce;
}

/**
 * One executable mapping. Rows are sorted by start and do not overlap; neighbours of one file with
 * the same bias are one row. An address pc in [start, end) is ELF virtual address pc - bias of the
 * executable; for the special executables (abi/frame.h) bias is 0.
 */
struct mapping_row {
	__u64 start;
	__u64 end;
	__u64 bias;
	__u64 executable_id;
};

_Static_assert(sizeof(struct mapping_row) == 32, "struct mapping_row is two cells");

enum process_event_type {
	/** A sample hit a process without a valid entry. */
	PROCESS_EVENT_UNKNOWN_PROCESS = 1,
	/** A sample hit an address outside the process's known mappings. */
	PROCESS_EVENT_UNKNOWN_ADDRESS = 2,
	PROCESS_EVENT_EXEC = 3,
	/** The last thread of the process is gone. Not sent for a fork without an exec of its own that was not sampled. */
	PROCESS_EVENT_EXIT = 4,
};

/**
 * A process event on the ring `process_events`. PROCESS_EVENT_UNKNOWN_* are coalesced: the same pid, identity and type
 * is not sent again until user space has deleted the pid from the hash `notified`.
 */
struct process_event {
	__u32 type;
	__u32 pid;
	struct process_identity identity;
	/** CLOCK_MONOTONIC, ns. */
	__u64 time_ns;
	/** PROCESS_EVENT_UNKNOWN_ADDRESS: the pc. PROCESS_EVENT_EXEC: the start address of the program's code. Else 0. */
	__u64 address;
	/** The real parent's pid; 1 if the process is a fork of it and both still run the program of one exec. */
	__u32 parent_pid;
	__u32 is_fork;
};

_Static_assert(sizeof(struct process_event) == 48, "struct process_event is ABI");

/** Value of the hash `notified`: the event that was last sent for a pid. */
struct notified {
	struct process_identity identity;
	__u32 type;
	__u32 reserved;
};

/** Record that the program iter/task writes for each thread group leader. */
struct task_snapshot {
	__u32 pid;
	/** 1 for kernel threads: they never get an entry. */
	__u32 is_kernel_thread;
	struct process_identity identity;
};

_Static_assert(sizeof(struct task_snapshot) == 24, "struct task_snapshot is ABI");

#endif
