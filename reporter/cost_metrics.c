/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cost_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/host/control_group.h"
#include "reporter/weights.h"

enum cost_label {
	LABEL_PID,
	LABEL_COMM,
	LABEL_CGROUP,
	LABEL_CONTAINER,
};

static const char *const label_names[COST_LABELS] = {
	[LABEL_PID] = "pid",
	[LABEL_COMM] = "comm",
	[LABEL_CGROUP] = "cgroup",
	[LABEL_CONTAINER] = "container",
};

void cost_metrics_deinit(struct cost_metrics *metrics)
{
	cost_series_set_deinit(&metrics->processes);
	cost_series_set_deinit(&metrics->cgroups);
	cost_candidate_vector_deinit(&metrics->candidates);
}

/* --- counting --- */

static struct cost_series_key process_key(const struct cost_key *key)
{
	struct cost_series_key made;

	_Static_assert(sizeof(*key) == sizeof(made), "a key of a process is one of a series");
	memcpy(&made, key, sizeof(made));
	return made;
}

static struct cost_series_key cgroup_key(uint64_t id)
{
	struct cost_series_key made = { { 0 } };

	memcpy(&made, &id, sizeof(id));
	return made;
}

static void add(struct cost_metrics *metrics, const struct cost_key *key, uint64_t cgroup_id,
		const struct costs_sum *costs)
{
	const struct cost_series_key process = process_key(key), cgroup = cgroup_key(cgroup_id);

	cost_series_add(&metrics->processes, key->id ? &process : NULL, costs);
	cost_series_add(&metrics->cgroups, key->id ? &cgroup : NULL, costs);
}

/* Counters become those of the whole run time: an estimate for a sum may fall, and a sum of estimates does not. */
static void estimate_counters(struct costs_sum *costs)
{
	for (uint32_t i = 0; i < COST_COUNTER_COUNT; i++)
		costs->counters[i] = (struct cost_counter){
			.count = costs_sum_counter(costs, i),
			.counted_ns = costs->run_time_ns,
		};
}

void cost_metrics_add(struct cost_metrics *metrics, const struct cost_row *row, bool is_idle)
{
	struct costs_sum costs;

	costs_sum_of_row(row, &costs);
	estimate_counters(&costs);
	if (is_idle)
		costs_sum_add(&metrics->idle, &costs);
	else
		add(metrics, &row->key, row->cgroup_id, &costs);
}

void cost_metrics_add_energy(struct cost_metrics *metrics, const struct cost_key *key,
			     uint64_t cgroup_id, const double joules[ENERGY_KIND_COUNT])
{
	struct costs_sum costs = { 0 };

	memcpy(costs.joules, joules, sizeof(costs.joules));
	add(metrics, key, cgroup_id, &costs);
}

void cost_metrics_add_idle_energy(struct cost_metrics *metrics,
				  const double joules[ENERGY_KIND_COUNT])
{
	for (int i = 0; i < ENERGY_KIND_COUNT; i++)
		metrics->idle.joules[i] += joules[i];
}

/* --- choosing --- */

static void describe_cgroup(struct cost_table *table, uint64_t id,
			    char labels[COST_LABELS][COST_LABEL_BYTES])
{
	const struct cgroup_costs *cgroup = cost_table_cgroup(table, id);
	const char *path = cgroup ? cgroup->path : NULL;
	struct text_builder line = { 0 };
	struct control_group group;

	if (!path) {
		snprintf(labels[LABEL_CGROUP], COST_LABEL_BYTES, "%" PRIu64, id);
		return;
	}
	snprintf(labels[LABEL_CGROUP], COST_LABEL_BYTES, "%.*s",
		 (int)text_cut_length(path, strlen(path), COST_LABEL_BYTES - 1), path);
	text_builder_format(&line, "0::%s\n", path);
	control_group_parse(text_builder_text(&line), line.length, &group);
	snprintf(labels[LABEL_CONTAINER], COST_LABEL_BYTES, "%s", group.container_id);
	text_builder_deinit(&line);
}

static void describe_process_series(void *context, const struct cost_candidate *candidate,
				    char labels[COST_LABELS][COST_LABEL_BYTES])
{
	struct cost_table *table = context;
	const struct process_costs *process = &table->processes.items[candidate->index];

	snprintf(labels[LABEL_PID], COST_LABEL_BYTES, "%u", process->key.pid);
	memcpy(labels[LABEL_COMM], process->comm, sizeof(process->comm));
	describe_cgroup(table, process->cgroup_id, labels);
}

static void describe_cgroup_series(void *context, const struct cost_candidate *candidate,
				   char labels[COST_LABELS][COST_LABEL_BYTES])
{
	struct cost_table *table = context;

	describe_cgroup(table, table->cgroups.items[candidate->index].id, labels);
}

/* Halves what was used before, so that the last rounds count most. */
static struct cost_candidate make_candidate(const struct cost_series_set *set,
					    struct cost_series_key key, struct recent_use *recent,
					    size_t index)
{
	struct cost_candidate candidate = {
		.key = key,
		.score = recent->run_time_ns,
		.is_new = !recent->round_count,
		.index = index,
	};

	if (candidate.score < COST_METRICS_MIN_NS && !cost_series_is_shown(set, &key))
		candidate.score = 0;
	recent->run_time_ns /= 2;
	recent->round_count++;
	return candidate;
}

static int choose_processes(struct cost_metrics *metrics, struct cost_table *table, uint64_t now_ns)
{
	struct cost_candidate_vector *candidates = &metrics->candidates;
	int err = cost_candidate_vector_reserve(candidates, table->processes.count);

	candidates->count = 0;
	for (size_t i = 0; i < table->processes.count && !err; i++) {
		struct process_costs *process = &table->processes.items[i];
		struct cost_candidate candidate = make_candidate(
			&metrics->processes, process_key(&process->key), &process->recent, i);

		candidate.has_ended = process->has_ended;
		/* Processes of other pid namespaces have no number of their own. */
		if (process->key.pid)
			err = cost_candidate_vector_push(candidates, candidate);
	}
	return err ? err :
		     cost_series_choose(&metrics->processes, candidates->items, candidates->count,
					describe_process_series, table, now_ns);
}

static int choose_cgroups(struct cost_metrics *metrics, struct cost_table *table, uint64_t now_ns)
{
	struct cost_candidate_vector *candidates = &metrics->candidates;
	int err = 0;

	candidates->count = 0;
	for (size_t i = 0; i < table->cgroups.count && !err; i++) {
		struct cgroup_costs *cgroup = &table->cgroups.items[i];

		err = cost_candidate_vector_push(candidates, make_candidate(&metrics->cgroups,
									    cgroup_key(cgroup->id),
									    &cgroup->recent, i));
	}
	return err ? err :
		     cost_series_choose(&metrics->cgroups, candidates->items, candidates->count,
					describe_cgroup_series, table, now_ns);
}

int cost_metrics_choose(struct cost_metrics *metrics, struct cost_table *table, uint64_t now_ns)
{
	int err = choose_processes(metrics, table, now_ns);

	return err ? err : choose_cgroups(metrics, table, now_ns);
}

/* --- families --- */

struct family {
	const char *name;
	const char *unit;
	const char *meaning;
	/* enum sample_weight; or NO_WEIGHT: reference cycles. */
	uint8_t cost;
};

enum { NO_WEIGHT = 0 };

static const struct family families[] = {
	{ "cpu.time", "s", "CPU time", WEIGHT_RUN_TIME },
	{ "runs", "{run}", "switches of a CPU to it from another process", WEIGHT_RUNS },
	{ "softirqs", "{softirq}", "softirqs that interrupted it", WEIGHT_SOFTIRQS },
	{ "page_cache.reads", "{page}", "pages of files read through the page cache",
	  WEIGHT_PAGE_READS },
	{ "page_cache.writes", "{page}", "pages of files made dirty", WEIGHT_PAGE_WRITES },
	{ "cycles", "{cycle}", "CPU cycles", WEIGHT_CYCLES },
	{ "reference_cycles", "{cycle}", "reference cycles of the CPU", NO_WEIGHT },
	{ "instructions", "{instruction}", "instructions", WEIGHT_INSTRUCTIONS },
	{ "cache_misses", "{miss}", "cache misses", WEIGHT_CACHE_MISSES },
};

static bool is_counted(const struct family *family, uint32_t sources)
{
	return family->cost == NO_WEIGHT ? sources & COST_FIRST_COUNTER << COST_REFERENCE_CYCLES :
					   weight_is_counted(family->cost, sources);
}

static uint64_t number_of(const struct family *family, const struct costs_sum *costs)
{
	return family->cost == NO_WEIGHT ? costs_sum_counter(costs, COST_REFERENCE_CYCLES) :
					   weight_count(family->cost, costs);
}

/* The rows of a kind of consumers, with labels that the table owns. */
struct rows {
	struct metric_table *table;
	const struct cost_series_set *set;
	const struct costs_sum *idle;
	/* "process" or "cgroup", and the first label that it has. */
	const char *consumer;
	enum cost_label first_label;
	/* Labels of the shown series. */
	struct metric_row labelled[COST_SERIES_SHOWN];
	const struct costs_sum *values[COST_SERIES_SHOWN];
	size_t count;
};

static void describe_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->set->series.count && rows->count < COST_SERIES_SHOWN; i++) {
		const struct cost_series *series = &rows->set->series.items[i];
		struct metric_row *row = &rows->labelled[rows->count];

		if (!series->is_shown)
			continue;
		*row = (struct metric_row){ .start_ns = series->start_ns };
		for (int label = rows->first_label; label < COST_LABELS; label++)
			if (series->labels[label][0])
				row->labels[row->label_count++] = (struct metric_label){
					label_names[label],
					metric_table_copy(rows->table, series->labels[label]),
				};
		rows->values[rows->count++] = &series->values;
	}
}

/* A row that stands for no single consumer: its name is that of each label. */
static struct metric_row summary_row(const struct rows *rows, const char *name)
{
	struct metric_row row = { .label_count = 1 };

	row.labels[0] = (struct metric_label){ label_names[rows->first_label], name };
	if (rows->first_label == LABEL_PID)
		row.labels[row.label_count++] =
			(struct metric_label){ label_names[LABEL_COMM], name };
	return row;
}

static void put_value(const struct rows *rows, const struct family *family, struct metric_row row,
		      const struct costs_sum *costs)
{
	row.is_fraction = family->cost == WEIGHT_RUN_TIME;
	if (row.is_fraction)
		row.fraction = (double)costs->run_time_ns / NS_PER_SECOND;
	else
		row.number = number_of(family, costs);
	metric_table_put(rows->table, &row);
}

/* Rows with the zone as a label. */
static void put_joules(const struct rows *rows, uint32_t sources, struct metric_row row,
		       const struct costs_sum *costs)
{
	row.is_fraction = true;
	row.label_count++;
	for (int kind = 0; kind < ENERGY_KIND_COUNT; kind++) {
		if (!(sources & COST_FIRST_ENERGY << kind))
			continue;
		row.labels[row.label_count - 1] =
			(struct metric_label){ "zone", energy_kind_names[kind] };
		row.fraction = costs->joules[kind];
		metric_table_put(rows->table, &row);
	}
}

static void begin_family(const struct rows *rows, const char *name, const char *unit,
			 const char *meaning)
{
	struct metric_family family = { .unit = unit, .meaning = meaning };

	snprintf(family.name, sizeof(family.name), "allframes.%s.%s", rows->consumer, name);
	metric_table_begin(rows->table, &family);
}

static void put_families(struct rows *rows, uint32_t sources)
{
	const struct metric_row others = summary_row(rows, "other");
	const struct metric_row idle = summary_row(rows, "idle");

	describe_rows(rows);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *family = &families[i];

		if (!is_counted(family, sources))
			continue;
		begin_family(rows, family->name, family->unit, family->meaning);
		for (size_t j = 0; j < rows->count; j++)
			put_value(rows, family, rows->labelled[j], rows->values[j]);
		put_value(rows, family, others, &rows->set->others);
		put_value(rows, family, idle, rows->idle);
	}
	if (!(sources & COST_ANY_ENERGY))
		return;
	begin_family(rows, "energy", "J",
		     cost_table_shares_by_cycles(sources) ?
			     "energy by kind of zone, shared out by cycles" :
			     "energy by kind of zone, shared out by run time");
	for (size_t j = 0; j < rows->count; j++)
		put_joules(rows, sources, rows->labelled[j], rows->values[j]);
	put_joules(rows, sources, others, &rows->set->others);
	put_joules(rows, sources, idle, rows->idle);
}

void cost_metrics_put(const struct cost_metrics *metrics, uint32_t sources, struct metric_table *to)
{
	struct rows processes = {
		.table = to,
		.set = &metrics->processes,
		.idle = &metrics->idle,
		.consumer = "process",
		.first_label = LABEL_PID,
	};
	struct rows cgroups = {
		.table = to,
		.set = &metrics->cgroups,
		.idle = &metrics->idle,
		.consumer = "cgroup",
		.first_label = LABEL_CGROUP,
	};

	put_families(&processes, sources);
	put_families(&cgroups, sources);
}
