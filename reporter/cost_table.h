/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The costs of each process, each cgroup and each CPU since the start of the run: the sums of the rows that the kernel side
 * counts (ebpf/abi/costs.h).
 *
 * A process is one from its fork to its end, with its threads; a pid that is used again is another one. The table is bounded:
 * when it is full, the ended processes with the least run time go, and are counted with their costs in `dropped`. So the
 * run times of processes, `dropped`, `unfitted` and `idle` are together the time of all CPUs. Not thread-safe.
 */
#ifndef REPORTER_COST_TABLE_H
#define REPORTER_COST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/costs.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/model/energy.h"

enum {
	COST_TABLE_MAX_PROCESSES = 16384,
	COST_TABLE_MAX_CGROUPS = 4096,
	ENERGY_ZONE_NAME_BYTES = 136,
};

/** The sources that user space adds to enum cost_source. */
enum {
	/** The first of ENERGY_KIND_COUNT bits. */
	COST_FIRST_ENERGY = 1 << 16,
	COST_ANY_ENERGY = ((1 << ENERGY_KIND_COUNT) - 1) * COST_FIRST_ENERGY,
};

struct costs_sum {
	uint64_t run_time_ns;
	/** How often a CPU switched to it from another process. */
	uint64_t run_count;
	uint64_t page_reads;
	uint64_t page_writes;
	uint64_t softirqs[COST_SOFTIRQ_COUNT];
	struct cost_counter counters[COST_COUNTER_COUNT];
	/** By enum energy_kind. */
	double joules[ENERGY_KIND_COUNT];
};

/** A zone of energy and what it has counted. The sums of its kind over all rows and idle are the same. */
struct energy_zone {
	char name[ENERGY_ZONE_NAME_BYTES];
	enum energy_kind kind;
	double joules;
	/** How often it could not be read. */
	uint64_t gap_count;
};

/** For the choice of what is shown (cost_metrics.h), which halves it each round. */
struct recent_use {
	uint64_t run_time_ns;
	/** The rounds that it has seen. */
	uint32_t round_count;
};

struct process_costs {
	struct cost_key key;
	uint64_t cgroup_id;
	/** The last name of its leader. */
	char comm[COMM_BYTES];
	bool is_kernel_thread;
	bool has_ended;
	/** For -weight: whether the process and its end were handed over to be shared out, and how much was of its costs. */
	bool is_weighed;
	bool is_end_weighed;
	uint64_t weighed;
	struct recent_use recent;
	struct costs_sum sum;
};

struct cgroup_costs {
	uint64_t id;
	/** Path in the hierarchy of version 2; NULL: unknown. Owned. */
	char *path;
	/** How often the path was looked up. */
	uint32_t lookup_count;
	struct recent_use recent;
	struct costs_sum sum;
};

struct cpu_costs {
	/** The time that was accounted, and its parts. */
	uint64_t wall_ns;
	uint64_t idle_ns;
	uint64_t busy_ns;
};

VECTOR_DEFINE(process_costs_vector, struct process_costs)
VECTOR_DEFINE(cgroup_costs_vector, struct cgroup_costs)
VECTOR_DEFINE(cpu_costs_vector, struct cpu_costs)
VECTOR_DEFINE(energy_zone_vector, struct energy_zone)

struct cost_table {
	struct process_costs_vector processes;
	/** Indexes of `processes` by struct cost_key. */
	struct hash_map process_indexes;
	struct cgroup_costs_vector cgroups;
	/** Indexes of `cgroups` by id. */
	struct hash_map cgroup_indexes;
	/** By number; CPUs that were never online have no time. */
	struct cpu_costs_vector cpus;
	struct energy_zone_vector zones;
	/** The idle tasks of all CPUs: softirqs that interrupted them, too, and energy that is not shared out. */
	struct costs_sum idle;
	/** Processes for which the kernel side's tables had no room. */
	struct costs_sum unfitted;
	/** Processes that this table had no room for any more. */
	struct costs_sum dropped;
	uint64_t dropped_count;
	/** Costs of all rows, those of the idle tasks too: the host's sums. */
	struct costs_sum host;
	/** The costs that this machine counts, as bits of enum cost_source and those above; the other sums are 0. */
	uint32_t sources;
	/** The limit of processes; COST_TABLE_MAX_PROCESSES, or less in tests. */
	size_t max_processes;
};

/** @sources: enum cost_source, and the bits above. */
void cost_table_init(struct cost_table *table, uint32_t sources);
void cost_table_deinit(struct cost_table *table);

/** Adds a row of the kernel side. 0 or -ENOMEM, and then the row is in no sum. */
int cost_table_add(struct cost_table *table, uint32_t cpu, const struct cost_row *row,
		   bool is_idle);

/** The costs of the cgroup with this id; NULL if there is none, or no room for it. */
struct cgroup_costs *cost_table_cgroup(struct cost_table *table, uint64_t id);

/** Adds the time that rows of @cpu cover. 0 or -ENOMEM. */
int cost_table_add_time(struct cost_table *table, uint32_t cpu, uint64_t wall_ns);

/** Adds joules, by enum energy_kind, to a process and its cgroup: to those that do not fit if @key is all 0. */
void cost_table_add_energy(struct cost_table *table, const struct cost_key *key, uint64_t cgroup_id,
			   const double joules[ENERGY_KIND_COUNT]);

/** Adds joules that are not shared out. */
void cost_table_add_idle_energy(struct cost_table *table, const double joules[ENERGY_KIND_COUNT]);

/** The names of softirqs by their vectors: "HI", "TIMER" ... as /proc/softirqs has them. */
extern const char *const cost_softirq_names[COST_SOFTIRQ_COUNT];

void costs_sum_of_row(const struct cost_row *row, struct costs_sum *sum);
void costs_sum_add(struct costs_sum *to, const struct costs_sum *from);

/** All softirqs of @sum. */
uint64_t costs_sum_softirqs(const struct costs_sum *sum);

/** The energy in all: that of packages, or of their parts where packages are not measured, of memory, and what is estimated. */
double costs_sum_joules(const struct costs_sum *sum);

/** Whether energy is shared out by cycles, and not by run time. @sources as of the table. */
bool cost_table_shares_by_cycles(uint32_t sources);

/** The count of counter @index for the whole run time, estimated from the part in which the kernel counted. */
uint64_t costs_sum_counter(const struct costs_sum *sum, uint32_t index);

/** Facts of a table that are the same for all of its processes. */
struct cost_facts {
	/** As of the table. */
	uint32_t sources;
	/** The frequency of reference cycles in Hz, from all busy time; 0 where they or cycles are not counted. */
	double reference_hz;
	/** Costs that the machine does not count, and why, for users. Borrowed. NULL where the table does not know. */
	const char *missing;
};

struct cost_facts cost_table_facts(const struct cost_table *table);

/**
 * The average frequency, in Hz, of the CPUs while they ran what @sum is of: its cycles over its reference cycles, times the
 * frequency of reference cycles. 0 if one of them is.
 */
double costs_sum_frequency(const struct costs_sum *sum, const struct cost_facts *facts);

#endif
