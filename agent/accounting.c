// SPDX-License-Identifier: Apache-2.0
#include "agent/accounting.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/energy.h"
#include "agent/tracing/cost_reader.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/cgroup_tree.h"
#include "lib/model/origins.h"
#include "reporter/cost_metrics.h"
#include "reporter/weights.h"

#define READ_INTERVAL_NS NS_PER_SECOND
/* How often it is decided which processes have metrics of their own. */
#define CHOOSE_INTERVAL_NS (5 * NS_PER_SECOND)

enum {
	/* Lookups of a cgroup's path, each with another process. */
	LOOKUPS_MAX = 16,
};

struct accounting {
	struct cost_reader *reader;
	/* NULL where no energy is known. */
	struct energy *energy;
	/* Guards the table and the metrics. */
	pthread_mutex_t lock;
	struct cost_table table;
	/* Gets the costs; NULL without -weight. */
	struct sample_weigher *weigher;
	struct cost_metrics metrics;
	/* The costs that this machine does not count, and why. */
	struct text_builder missing;
	uint64_t next_choice_ns;
	uint64_t next_read_ns;
	/* The first failure is logged. */
	bool has_failed;
	bool has_weight_failed;
};

/* Costs that only some machines can count, and why others cannot. */
static const struct {
	uint32_t source;
	const char *name;
	const char *reason;
} optional_costs[] = {
	{ COST_PAGE_READS, "pages read",
	  "the kernel has neither the tracepoint mm_filemap_get_pages nor probes of functions" },
	{ COST_PAGE_WRITES, "pages written",
	  "the kernel has no tracepoint writeback_dirty_folio or writeback_dirty_page" },
	{ COST_FIRST_COUNTER << COST_CYCLES, "CPU cycles",
	  "there is no hardware counter for them" },
	{ COST_FIRST_COUNTER << COST_REFERENCE_CYCLES, "reference cycles",
	  "there is no hardware counter for them" },
	{ COST_FIRST_COUNTER << COST_INSTRUCTIONS, "instructions",
	  "there is no hardware counter for them" },
	{ COST_FIRST_COUNTER << COST_CACHE_MISSES, "cache misses",
	  "there is no hardware counter for them" },
	{ COST_ANY_ENERGY, "energy",
	  "the CPUs show no RAPL zones (/sys/class/powercap); -energy-file estimates it" },
};

enum {
	OPTIONAL_COUNT = sizeof(optional_costs) / sizeof(optional_costs[0]),
};

static const char *reason_of(uint32_t source)
{
	for (size_t i = 0; i < OPTIONAL_COUNT; i++)
		if (optional_costs[i].source == source)
			return optional_costs[i].reason;
	return "the kernel does not count it";
}

/* Appends what is not counted: "cycles, instructions: REASON; energy: REASON". */
static void append_missing(struct text_builder *text, uint32_t sources)
{
	const char *reason = "";

	for (size_t i = 0; i < OPTIONAL_COUNT; i++) {
		if (sources & optional_costs[i].source)
			continue;
		if (!*reason)
			text_builder_append(text, optional_costs[i].name);
		else if (!strcmp(reason, optional_costs[i].reason))
			text_builder_format(text, ", %s", optional_costs[i].name);
		else
			text_builder_format(text, ": %s; %s", reason, optional_costs[i].name);
		reason = optional_costs[i].reason;
	}
	if (*reason)
		text_builder_format(text, ": %s", reason);
}

static void append_energy(struct text_builder *text, bool has_cycles)
{
	struct energy *energy;
	uint32_t sources;

	if (energy_create("/sys", NULL, &energy)) {
		text_builder_format(text, "  bad   energy: %s\n", error_text());
		return;
	}
	sources = energy_sources(energy);
	energy_destroy(energy);
	for (int i = 0; i < ENERGY_KIND_COUNT; i++)
		if (sources & COST_FIRST_ENERGY << i)
			text_builder_format(text, "  ok    energy of %s, shared out by %s\n",
					    energy_kind_names[i],
					    has_cycles ? "cycles" : "run time");
	if (!sources)
		text_builder_format(text, "  none  energy: %s\n", reason_of(COST_ANY_ENERGY));
}

void accounting_append_check(const struct agent_config *config, struct text_builder *text)
{
	const struct cost_reader_options options = { .config = config };
	struct cost_reader *reader;
	uint32_t sources;

	text_builder_append(text, "\nCosts of processes (-accounting)\n");
	if (cost_reader_create(&options, &reader)) {
		text_builder_format(text, "  bad   %s\n", error_text());
		return;
	}
	sources = cost_reader_sources(reader);
	cost_reader_destroy(reader);
	text_builder_append(text, "  ok    run time, softirqs\n");
	for (size_t i = 0; i < OPTIONAL_COUNT; i++) {
		/* Its kinds have lines of their own. */
		if (optional_costs[i].source == COST_ANY_ENERGY)
			continue;
		if (sources & optional_costs[i].source)
			text_builder_format(text, "  ok    %s\n", optional_costs[i].name);
		else
			text_builder_format(text, "  none  %s: %s\n", optional_costs[i].name,
					    optional_costs[i].reason);
	}
	append_energy(text, cost_table_shares_by_cycles(sources));
}

/* Energy that is not known is no error. */
static int begin_energy(struct accounting *accounting, const char *power_file)
{
	int err = energy_create("/sys", power_file, &accounting->energy);

	if (err)
		return err;
	if (!energy_sources(accounting->energy)) {
		energy_destroy(accounting->energy);
		accounting->energy = NULL;
		return 0;
	}
	accounting->table.sources |= energy_sources(accounting->energy);
	return energy_list_zones(accounting->energy, &accounting->table.zones);
}

/* Refuses a weight that this machine cannot count. */
static int check_weight(uint32_t sources, uint8_t weight)
{
	if (weight_is_counted(weight, sources))
		return 0;
	return fail(-EINVAL,
		    "-weight %s: cannot be counted on this machine: %s; give another one, such as "
		    "run-time",
		    sample_origins[weight].name, reason_of(weight_source(weight)));
}

int accounting_create(const struct agent_config *config, const char *power_file,
		      struct sample_weigher *weigher, struct accounting **out)
{
	const struct cost_reader_options options = {
		.config = config,
		.with_page_faults = weigher && sample_weigher_weight(weigher) == WEIGHT_PAGE_FAULTS,
	};
	struct accounting *accounting = calloc(1, sizeof(*accounting));
	int err;

	if (!accounting)
		return -ENOMEM;
	pthread_mutex_init(&accounting->lock, NULL);
	accounting->weigher = weigher;
	err = cost_reader_create(&options, &accounting->reader);
	if (!err) {
		cost_table_init(&accounting->table, cost_reader_sources(accounting->reader));
		err = begin_energy(accounting, power_file);
	}
	if (!err && weigher)
		err = check_weight(accounting->table.sources, sample_weigher_weight(weigher));
	if (err) {
		accounting_destroy(accounting);
		return err;
	}
	accounting->next_read_ns = clock_monotonic_ns() + READ_INTERVAL_NS;
	append_missing(&accounting->missing, accounting->table.sources);
	if (accounting->missing.length)
		log_info("-accounting does not count %s", text_builder_text(&accounting->missing));
	*out = accounting;
	return 0;
}

void accounting_destroy(struct accounting *accounting)
{
	if (!accounting)
		return;
	cost_reader_destroy(accounting->reader);
	energy_destroy(accounting->energy);
	cost_table_deinit(&accounting->table);
	cost_metrics_deinit(&accounting->metrics);
	text_builder_deinit(&accounting->missing);
	pthread_mutex_destroy(&accounting->lock);
	free(accounting);
}

/* Logs the first failure; the others are mostly the same one. */
static void note_failure(struct accounting *accounting, int err)
{
	if (!err || accounting->has_failed)
		return;
	accounting->has_failed = true;
	log_warn("%s; the costs of processes have a gap",
		 err == -ENOMEM ? "-accounting: no memory" : error_text());
}

/* The path is read while a process of the group is alive. */
static void find_path(struct accounting *accounting, const struct cost_row *row)
{
	struct cgroup_costs *cgroup = cost_table_cgroup(&accounting->table, row->cgroup_id);
	char path[CGROUP_PATH_MAX_BYTES];

	if (!cgroup || cgroup->path || cgroup->lookup_count >= LOOKUPS_MAX || !row->key.pid ||
	    row->flags & COST_ENDED)
		return;
	cgroup->lookup_count++;
	if (!cgroup_path_of_process("/proc/self/mountinfo", "/proc", (pid_t)row->key.pid,
				    row->cgroup_id, path))
		cgroup->path = strdup(path);
}

static void take_row(void *context, uint32_t cpu, const struct cost_row *row, bool is_idle)
{
	struct accounting *accounting = context;
	int err;

	pthread_mutex_lock(&accounting->lock);
	err = cost_table_add(&accounting->table, cpu, row, is_idle);
	if (!err)
		cost_metrics_add(&accounting->metrics, row, is_idle);
	pthread_mutex_unlock(&accounting->lock);
	if (!err && accounting->energy)
		err = energy_take_row(accounting->energy, cpu, row, is_idle,
				      cost_table_shares_by_cycles(accounting->table.sources));
	note_failure(accounting, err);
	if (!err && !is_idle)
		find_path(accounting, row);
}

static void take_time(void *context, uint32_t cpu, uint64_t wall_ns)
{
	struct accounting *accounting = context;

	note_failure(accounting, cost_table_add_time(&accounting->table, cpu, wall_ns));
}

/* Hands what the process has cost since the last time to the weigher. */
static int weigh(struct sample_weigher *weigher, struct process_costs *process)
{
	uint64_t sum = weight_count(sample_weigher_weight(weigher), &process->sum);
	struct weighed_cost cost = {
		.key = process->key,
		.count = (int64_t)(sum - process->weighed),
		.has_ended = process->has_ended,
	};

	if (!cost.count && process->is_weighed && process->has_ended == process->is_end_weighed)
		return 0;
	memcpy(cost.comm, process->comm, sizeof(cost.comm));
	process->weighed = sum;
	process->is_weighed = true;
	process->is_end_weighed = process->has_ended;
	return sample_weigher_add(weigher, &cost);
}

/* The interval has ended at @end_ns. */
static void weigh_all(struct accounting *accounting, uint64_t end_ns)
{
	struct process_costs_vector *processes = &accounting->table.processes;
	int result = 0, err;

	pthread_mutex_lock(&accounting->lock);
	for (size_t i = 0; i < processes->count; i++) {
		err = weigh(accounting->weigher, &processes->items[i]);
		result = result ? result : err;
	}
	pthread_mutex_unlock(&accounting->lock);
	err = sample_weigher_end_interval(accounting->weigher, end_ns);
	result = result ? result : err;
	if (result && !accounting->has_weight_failed)
		log_warn("-weight: %s; a part of the costs is not in the samples",
			 strerror(-result));
	accounting->has_weight_failed |= result;
}

static void take_share(void *context, const struct cost_key *key, uint64_t cgroup_id,
		       const double joules[ENERGY_KIND_COUNT])
{
	struct accounting *accounting = context;

	cost_table_add_energy(&accounting->table, key, cgroup_id, joules);
	cost_metrics_add_energy(&accounting->metrics, key, cgroup_id, joules);
}

static void take_idle_energy(void *context, const double joules[ENERGY_KIND_COUNT])
{
	struct accounting *accounting = context;

	cost_table_add_idle_energy(&accounting->table, joules);
	cost_metrics_add_idle_energy(&accounting->metrics, joules);
}

static void share_energy(struct accounting *accounting)
{
	const struct energy_sink sink = {
		.take_share = take_share,
		.take_idle = take_idle_energy,
		.context = accounting,
	};
	int err;

	if (!accounting->energy)
		return;
	pthread_mutex_lock(&accounting->lock);
	energy_share(accounting->energy, &sink);
	err = energy_list_zones(accounting->energy, &accounting->table.zones);
	pthread_mutex_unlock(&accounting->lock);
	note_failure(accounting, err);
}

static void read_costs(struct accounting *accounting)
{
	const struct cost_sink sink = {
		.take_row = take_row,
		.take_time = take_time,
		.context = accounting,
	};
	uint64_t now_ns = clock_monotonic_ns();

	/* The first thing that the reader does is to end the interval on all CPUs. */
	if (accounting->energy)
		energy_read(accounting->energy, now_ns);
	note_failure(accounting, cost_reader_read(accounting->reader, &sink));
	share_energy(accounting);
	if (accounting->weigher)
		weigh_all(accounting, now_ns);
}

static void choose_metrics(struct accounting *accounting, uint64_t now_ns)
{
	int err;

	if (now_ns < accounting->next_choice_ns)
		return;
	accounting->next_choice_ns = now_ns + CHOOSE_INTERVAL_NS;
	pthread_mutex_lock(&accounting->lock);
	err = cost_metrics_choose(&accounting->metrics, &accounting->table, clock_realtime_ns());
	pthread_mutex_unlock(&accounting->lock);
	note_failure(accounting, err);
}

void accounting_tick(struct accounting *accounting, uint64_t now_ns)
{
	if (!accounting || !accounting->reader ||
	    (now_ns < accounting->next_read_ns && !accounting->weigher &&
	     !cost_reader_is_filling(accounting->reader)))
		return;
	read_costs(accounting);
	accounting->next_read_ns = now_ns + READ_INTERVAL_NS;
	choose_metrics(accounting, now_ns);
}

void accounting_finish(struct accounting *accounting)
{
	if (!accounting)
		return;
	read_costs(accounting);
	log_debug("-accounting: %llu switches between processes did not reach the programs",
		  (unsigned long long)cost_reader_missed_switches(accounting->reader));
	cost_reader_destroy(accounting->reader);
	accounting->reader = NULL;
}

void accounting_read(struct accounting *accounting,
		     void (*take)(void *taker, const struct process_costs *process), void *taker,
		     struct cost_facts *facts)
{
	const struct cost_table *table = &accounting->table;

	pthread_mutex_lock(&accounting->lock);
	for (size_t i = 0; i < table->processes.count; i++)
		take(taker, &table->processes.items[i]);
	*facts = cost_table_facts(table);
	facts->missing = text_builder_text(&accounting->missing);
	pthread_mutex_unlock(&accounting->lock);
}

void accounting_put_metrics(struct accounting *accounting, struct metric_table *to)
{
	if (!accounting)
		return;
	pthread_mutex_lock(&accounting->lock);
	cost_metrics_put(&accounting->metrics, accounting->table.sources, to);
	pthread_mutex_unlock(&accounting->lock);
}

const struct cost_table *accounting_table(const struct accounting *accounting)
{
	return accounting ? &accounting->table : NULL;
}
