// SPDX-License-Identifier: Apache-2.0
#include "reporter/cost_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

enum {
	/* When the table is full, 1 of so many processes goes. */
	DROPPED_FRACTION = 4,
};

const char *const cost_softirq_names[COST_SOFTIRQ_COUNT] = {
	"HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
	"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU",
};

void cost_table_init(struct cost_table *table, uint32_t sources)
{
	*table = (struct cost_table){
		.sources = sources,
		.max_processes = COST_TABLE_MAX_PROCESSES,
	};
}

void cost_table_deinit(struct cost_table *table)
{
	for (size_t i = 0; i < table->cgroups.count; i++)
		free(table->cgroups.items[i].path);
	process_costs_vector_deinit(&table->processes);
	cgroup_costs_vector_deinit(&table->cgroups);
	cpu_costs_vector_deinit(&table->cpus);
	energy_zone_vector_deinit(&table->zones);
	hash_map_deinit(&table->process_indexes);
	hash_map_deinit(&table->cgroup_indexes);
}

void costs_sum_add(struct costs_sum *to, const struct costs_sum *from)
{
	to->run_time_ns += from->run_time_ns;
	to->run_count += from->run_count;
	to->page_reads += from->page_reads;
	to->page_writes += from->page_writes;
	for (int i = 0; i < COST_SOFTIRQ_COUNT; i++)
		to->softirqs[i] += from->softirqs[i];
	for (int i = 0; i < COST_COUNTER_COUNT; i++) {
		to->counters[i].count += from->counters[i].count;
		to->counters[i].counted_ns += from->counters[i].counted_ns;
	}
	for (int i = 0; i < ENERGY_KIND_COUNT; i++)
		to->joules[i] += from->joules[i];
}

void costs_sum_of_row(const struct cost_row *row, struct costs_sum *sum)
{
	*sum = (struct costs_sum){
		.run_time_ns = row->run_time_ns,
		.run_count = row->run_count,
		.page_reads = row->page_reads,
		.page_writes = row->page_writes,
	};
	for (int i = 0; i < COST_SOFTIRQ_COUNT; i++)
		sum->softirqs[i] = row->softirqs[i];
	memcpy(sum->counters, row->counters, sizeof(sum->counters));
}

static int find_cpu(struct cost_table *table, uint32_t cpu, struct cpu_costs **found)
{
	while (table->cpus.count <= cpu) {
		int err = cpu_costs_vector_push(&table->cpus, (struct cpu_costs){ 0 });

		if (err)
			return err;
	}
	*found = &table->cpus.items[cpu];
	return 0;
}

/* The order in which processes are dropped: ended ones, and of these the ones with the least run time. */
static int compare_for_drop(const void *a, const void *b)
{
	const struct process_costs *left = a, *right = b;

	if (left->has_ended != right->has_ended)
		return left->has_ended ? -1 : 1;
	return (left->sum.run_time_ns > right->sum.run_time_ns) -
	       (left->sum.run_time_ns < right->sum.run_time_ns);
}

/* Makes room for new processes. */
static int drop_processes(struct cost_table *table)
{
	struct process_costs_vector *processes = &table->processes;
	size_t dropped = processes->count / DROPPED_FRACTION + 1;
	int err = 0;

	qsort(processes->items, processes->count, sizeof(*processes->items), compare_for_drop);
	for (size_t i = 0; i < dropped; i++)
		costs_sum_add(&table->dropped, &processes->items[i].sum);
	table->dropped_count += dropped;
	processes->count -= dropped;
	memmove(processes->items, processes->items + dropped,
		processes->count * sizeof(*processes->items));
	hash_map_deinit(&table->process_indexes);
	for (size_t i = 0; i < processes->count && !err; i++)
		err = hash_map_set_bytes(&table->process_indexes, &processes->items[i].key,
					 sizeof(struct cost_key), i);
	return err;
}

static int find_process(struct cost_table *table, const struct cost_row *row,
			struct process_costs **found)
{
	struct process_costs_vector *processes = &table->processes;
	struct process_costs process = { .key = row->key };
	uint64_t index;
	int err;

	if (!hash_map_find_bytes(&table->process_indexes, &row->key, sizeof(row->key), &index)) {
		err = processes->count < table->max_processes ? 0 : drop_processes(table);
		index = processes->count;
		if (!err)
			err = process_costs_vector_reserve(processes, index + 1);
		if (!err)
			err = hash_map_set_bytes(&table->process_indexes, &row->key,
						 sizeof(row->key), index);
		if (err)
			return err;
		process_costs_vector_push(processes, process);
	}
	*found = &processes->items[index];
	return 0;
}

/* NULL in *@found if there are too many cgroups. */
static int find_cgroup(struct cost_table *table, uint64_t id, struct cgroup_costs **found)
{
	struct cgroup_costs_vector *cgroups = &table->cgroups;
	uint64_t index;
	int err;

	*found = NULL;
	if (!hash_map_find(&table->cgroup_indexes, id, &index)) {
		index = cgroups->count;
		if (index >= COST_TABLE_MAX_CGROUPS)
			return 0;
		err = cgroup_costs_vector_reserve(cgroups, index + 1);
		if (!err)
			err = hash_map_set(&table->cgroup_indexes, id, index);
		if (err)
			return err;
		cgroup_costs_vector_push(cgroups, (struct cgroup_costs){ .id = id });
	}
	*found = &cgroups->items[index];
	return 0;
}

struct cgroup_costs *cost_table_cgroup(struct cost_table *table, uint64_t id)
{
	uint64_t index;

	return hash_map_find(&table->cgroup_indexes, id, &index) ? &table->cgroups.items[index] :
								   NULL;
}

static void update_process(struct process_costs *process, const struct cost_row *row,
			   const struct costs_sum *sum)
{
	process->cgroup_id = row->cgroup_id;
	/* Rows of several CPUs come in no order. The name in the last row of an ended process is its last one. */
	if (!process->has_ended)
		memcpy(process->comm, row->comm, sizeof(process->comm));
	process->is_kernel_thread = row->flags & COST_KERNEL_THREAD;
	process->has_ended |= row->flags & COST_ENDED;
	costs_sum_add(&process->sum, sum);
}

int cost_table_add(struct cost_table *table, uint32_t cpu, const struct cost_row *row, bool is_idle)
{
	struct process_costs *process;
	struct cgroup_costs *cgroup;
	struct cpu_costs *costs_of_cpu;
	struct costs_sum sum;
	int err;

	costs_sum_of_row(row, &sum);
	err = find_cpu(table, cpu, &costs_of_cpu);
	if (err)
		return err;
	if (is_idle) {
		costs_of_cpu->idle_ns += sum.run_time_ns;
		costs_sum_add(&table->idle, &sum);
	} else if (!row->key.id) {
		costs_sum_add(&table->unfitted, &sum);
	} else {
		err = find_process(table, row, &process);
		if (!err)
			err = find_cgroup(table, row->cgroup_id, &cgroup);
		if (err)
			return err;
		update_process(process, row, &sum);
		process->recent.run_time_ns += sum.run_time_ns;
		if (cgroup) {
			costs_sum_add(&cgroup->sum, &sum);
			cgroup->recent.run_time_ns += sum.run_time_ns;
		}
	}
	if (!is_idle)
		costs_of_cpu->busy_ns += sum.run_time_ns;
	costs_sum_add(&table->host, &sum);
	return 0;
}

int cost_table_add_time(struct cost_table *table, uint32_t cpu, uint64_t wall_ns)
{
	struct cpu_costs *found;
	int err = find_cpu(table, cpu, &found);

	if (!err)
		found->wall_ns += wall_ns;
	return err;
}

void cost_table_add_energy(struct cost_table *table, const struct cost_key *key, uint64_t cgroup_id,
			   const double joules[ENERGY_KIND_COUNT])
{
	struct cgroup_costs *cgroup = key->id ? cost_table_cgroup(table, cgroup_id) : NULL;
	struct costs_sum *sum = key->id ? &table->dropped : &table->unfitted;
	struct costs_sum added = { 0 };
	uint64_t index;

	memcpy(added.joules, joules, sizeof(added.joules));
	/* A process may have been dropped since its row came. */
	if (key->id && hash_map_find_bytes(&table->process_indexes, key, sizeof(*key), &index))
		sum = &table->processes.items[index].sum;
	costs_sum_add(sum, &added);
	if (cgroup)
		costs_sum_add(&cgroup->sum, &added);
	costs_sum_add(&table->host, &added);
}

void cost_table_add_idle_energy(struct cost_table *table, const double joules[ENERGY_KIND_COUNT])
{
	struct costs_sum added = { 0 };

	memcpy(added.joules, joules, sizeof(added.joules));
	costs_sum_add(&table->idle, &added);
	costs_sum_add(&table->host, &added);
}

bool cost_table_shares_by_cycles(uint32_t sources)
{
	return sources & COST_FIRST_COUNTER << COST_CYCLES;
}

double costs_sum_joules(const struct costs_sum *sum)
{
	double cpus = sum->joules[ENERGY_PACKAGE];

	if (cpus <= 0)
		cpus = sum->joules[ENERGY_CORE] + sum->joules[ENERGY_UNCORE];
	return cpus + sum->joules[ENERGY_DRAM] + sum->joules[ENERGY_HOST];
}

uint64_t costs_sum_softirqs(const struct costs_sum *sum)
{
	uint64_t count = 0;

	for (int i = 0; i < COST_SOFTIRQ_COUNT; i++)
		count += sum->softirqs[i];
	return count;
}

uint64_t costs_sum_counter(const struct costs_sum *sum, uint32_t index)
{
	const struct cost_counter *counter = &sum->counters[index];

	if (!counter->counted_ns || counter->counted_ns >= sum->run_time_ns)
		return counter->count;
	return (uint64_t)((double)counter->count * (double)sum->run_time_ns /
			  (double)counter->counted_ns);
}

struct cost_facts cost_table_facts(const struct cost_table *table)
{
	const uint32_t needed = COST_FIRST_COUNTER << COST_CYCLES |
				COST_FIRST_COUNTER << COST_REFERENCE_CYCLES;
	const struct cost_counter *of_host = &table->host.counters[COST_REFERENCE_CYCLES];
	const struct cost_counter *of_idle = &table->idle.counters[COST_REFERENCE_CYCLES];
	double busy_seconds = (double)(of_host->counted_ns - of_idle->counted_ns) / NS_PER_SECOND;
	struct cost_facts facts = { .sources = table->sources };

	/* An idle CPU mostly stands still and counts nothing. */
	if ((table->sources & needed) == needed && busy_seconds > 0)
		facts.reference_hz = (double)(of_host->count - of_idle->count) / busy_seconds;
	return facts;
}

double costs_sum_frequency(const struct costs_sum *sum, const struct cost_facts *facts)
{
	double cycles = (double)costs_sum_counter(sum, COST_CYCLES);
	double reference_cycles = (double)costs_sum_counter(sum, COST_REFERENCE_CYCLES);

	return reference_cycles > 0 ? cycles / reference_cycles * facts->reference_hz : 0;
}
