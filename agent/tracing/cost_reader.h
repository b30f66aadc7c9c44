/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loads the kernel programs of -accounting (ebpf/costs/costs.bpf.c) and reads what they count: for each CPU and each process
 * that ran on it the run time, softirqs, the page cache and counters of perf events. Without a reader nothing is loaded or attached.
 *
 * A read takes the costs since the read before, to the nanosecond: the running tasks of all CPUs are accounted first. Owned by
 * one thread.
 */
#ifndef AGENT_TRACING_COST_READER_H
#define AGENT_TRACING_COST_READER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/config.h"
#include "ebpf/abi/costs.h"

struct cost_reader;

struct cost_reader_options {
	/** The agent's pid namespace, as of bpf_loader_config(). Borrowed during the call. */
	const struct agent_config *config;
	/**
	 * Events to count, COST_COUNTER_COUNT of them, in place of the CPU's own (cycles, reference cycles, instructions, cache
	 * misses): for tests on machines that have no such counters. NULL: the CPU's own. Borrowed during the call.
	 */
	const struct perf_event_attr *events;
	/** Page faults are counted, too. */
	bool with_page_faults;
	/** The times of events are read at each switch, as where more events are wanted than there are counters, for tests. */
	bool with_event_times;
	/** The raw tracepoints are used even if the kernel has others, for tests. */
	bool is_raw;
};

/** Functions that take what is read; they are called by cost_reader_read() only. */
struct cost_sink {
	/** The costs of a process on @cpu, or of the idle task if @is_idle; all 0 in `key` for processes that did not fit. */
	void (*take_row)(void *context, uint32_t cpu, const struct cost_row *row, bool is_idle);
	/** The time that all rows of @cpu cover. The sum of their run times is the same. */
	void (*take_time)(void *context, uint32_t cpu, uint64_t wall_ns);
	void *context;
};

/**
 * Loads and attaches the programs; from then on they count. -EPERM, -EOPNOTSUPP, or as the system call said, with a text for
 * users.
 */
int cost_reader_create(const struct cost_reader_options *options, struct cost_reader **reader);
/** Takes NULL. */
void cost_reader_destroy(struct cost_reader *reader);

/** The costs that this machine counts, as bits of enum cost_source. */
uint32_t cost_reader_sources(const struct cost_reader *reader);

/**
 * How often a switch between processes did not reach the programs: then what the counters counted for the task that went counts for the
 * one that came, and that one's time may be wrong by a tick.
 */
uint64_t cost_reader_missed_switches(const struct cost_reader *reader);

/** Whether a table is so full that it should be read soon. Takes no system call. */
bool cost_reader_is_filling(const struct cost_reader *reader);

/** Hands the costs since the last read to @sink. Takes some 20 ms, in which it sleeps. 0 or the first error. */
int cost_reader_read(struct cost_reader *reader, const struct cost_sink *sink);

#endif
