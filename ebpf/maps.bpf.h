/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The maps that programs share with user space, by the names that agent/tracing looks for (those of
 * the unwind tables are in tables.bpf.h). The sizes of the rings are set by the loader.
 *
 *	map              written by                      read by
 *	processes        user space (abi/process.h)      programs of origins
 *	notified         programs; deleted by user space programs
 *	samples          unwind_stop, entries            user space
 *	process events          all programs                    user space
 *	counters         programs                        user space
 *	unwinders        user space, once                all programs
 *	selected_*       user space, once                programs of origins, process_fork
 *	followed         process_fork, process_free      programs of origins, process_fork
 */
#ifndef EBPF_MAPS_BPF_H
#define EBPF_MAPS_BPF_H

#include "ebpf/abi/config.h"
#include "ebpf/abi/counters.h"
#include "ebpf/abi/process.h"
#include "ebpf/abi/programs.h"
#include "ebpf/helpers.bpf.h"

enum {
	NOTIFIED_MAX_COUNT = 16384,
};

extern const volatile struct agent_config config;

/* Preallocated, since before 6.1 programs of perf events may not use another hash. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESS_MAX_COUNT);
	__type(key, __u32);
	__type(value, struct process_entry);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NOTIFIED_MAX_COUNT);
	__type(key, __u32);
	__type(value, struct notified);
} notified SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} process_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, UNWINDER_COUNT);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} unwinders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SELECTED_PIDS_MAX);
	__type(key, __u32);
	__type(value, __u8);
} selected_pids SEC(".maps");

/* Names with zeroes behind their ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SELECTED_COMMS_MAX);
	__uint(key_size, COMM_BYTES);
	__uint(value_size, sizeof(__u8));
} selected_comms SEC(".maps");

/*
 * Processes that the selected ones have started: the start time of each by its thread group id in the initial pid
 * namespace. The loader makes it small if nothing is followed.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESS_MAX_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} followed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} selected_cgroup SEC(".maps");

static __always_inline void count_more(__u32 counter, __u64 more)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &counter);

	if (value)
		*value += more;
}

static __always_inline void count(__u32 counter)
{
	count_more(counter, 1);
}

#endif
