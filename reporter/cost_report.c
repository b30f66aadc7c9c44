// SPDX-License-Identifier: Apache-2.0
#include "reporter/cost_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/json_text.h"
#include "reporter/weights.h"

enum {
	PROCESSES_MAX = 10,
	CGROUPS_MAX = 8,
	/* Columns that the names get before another column is shown. */
	NAME_COLUMNS = 24,
	NAME_BYTES = 256,
	TIME_COLUMNS = 12,
	COUNT_COLUMNS = 9,
	SHARE_COLUMNS = 7,
};

#define COLOUR_TITLE "\033[1m"
#define COLOUR_OFF "\033[0m"

/* --- what is shown --- */

/* A column of a cost (enum sample_weight). */
static const struct column {
	const char *title;
	uint8_t cost;
} count_columns[] = {
	{ "joules", WEIGHT_JOULES },	   { "runs", WEIGHT_RUNS },
	{ "softirqs", WEIGHT_SOFTIRQS },   { "reads", WEIGHT_PAGE_READS },
	{ "writes", WEIGHT_PAGE_WRITES },  { "cycles", WEIGHT_CYCLES },
	{ "instr.", WEIGHT_INSTRUCTIONS }, { "misses", WEIGHT_CACHE_MISSES },
	{ "faults", WEIGHT_PAGE_FAULTS },
};

/* By enum cost_counter_index. Kepler has no name for page faults. */
static const char *const counter_keys[COST_COUNTER_COUNT] = {
	[COST_CYCLES] = "cpu_cycles",	    [COST_REFERENCE_CYCLES] = "cpu_ref_cycles",
	[COST_INSTRUCTIONS] = "cpu_instr",  [COST_CACHE_MISSES] = "cache_miss",
	[COST_PAGE_FAULTS] = "page_faults",
};

enum {
	COLUMN_COUNT = sizeof(count_columns) / sizeof(count_columns[0]),
};

struct page {
	const struct cost_table *table;
	uint32_t columns;
	bool has_colours;
	struct text_builder *text;
	/* The columns of counts that are shown. */
	const struct column *shown[COLUMN_COUNT];
	uint32_t shown_count;
	/* The sum over all CPUs. */
	uint64_t wall_ns;
};

static void select_columns(struct page *page)
{
	size_t used = SHARE_COLUMNS + TIME_COLUMNS + 3 + NAME_COLUMNS;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		const struct column *column = &count_columns[i];

		if (!weight_is_counted(column->cost, page->table->sources))
			continue;
		used += COUNT_COLUMNS;
		if (used <= page->columns)
			page->shown[page->shown_count++] = column;
	}
}

static size_t name_room(const struct page *page)
{
	return page->columns - SHARE_COLUMNS - TIME_COLUMNS - 3 - COUNT_COLUMNS * page->shown_count;
}

static void put_title(struct page *page, const char *subject)
{
	text_builder_format(page->text, "\n%s share%*s", page->has_colours ? COLOUR_TITLE : "",
			    TIME_COLUMNS + 1, "CPU time");
	for (uint32_t i = 0; i < page->shown_count; i++)
		text_builder_format(page->text, "%*s", COUNT_COLUMNS, page->shown[i]->title);
	text_builder_append(page->text, "   ");
	text_builder_append_fitted(page->text, subject, name_room(page));
	text_builder_append(page->text, page->has_colours ? COLOUR_OFF "\n" : "\n");
}

/* A count in at most seven columns: 9999, 12.3k, 4.5M. */
static void format_count(char text[16], uint64_t count)
{
	const char *unit = "kMGTPE";
	double value = (double)count / 1000;

	if (count < 100000) {
		snprintf(text, 16, "%" PRIu64, count);
		return;
	}
	for (; value >= 999.95 && unit[1]; unit++)
		value /= 1000;
	snprintf(text, 16, "%.1f%c", value, *unit);
}

static void format_joules(char text[16], double joules)
{
	if (joules < 99999.95)
		snprintf(text, 16, "%.1f", joules);
	else
		format_count(text, (uint64_t)joules);
}

/* A line of a table. @ending, which may be "", is kept when the name is cut. */
static void put_line(struct page *page, const struct costs_sum *sum, const char *name,
		     const char *ending)
{
	double share = page->wall_ns ? 100.0 * (double)sum->run_time_ns / (double)page->wall_ns :
				       0.0;
	size_t room = name_room(page), needed = strlen(ending);

	text_builder_format(page->text, " %*.1f%%%*.3f s", SHARE_COLUMNS - 2, share,
			    TIME_COLUMNS - 2, (double)sum->run_time_ns / NS_PER_SECOND);
	for (uint32_t i = 0; i < page->shown_count; i++) {
		char count[16];

		if (page->shown[i]->cost == WEIGHT_JOULES)
			format_joules(count, costs_sum_joules(sum));
		else
			format_count(count, weight_count(page->shown[i]->cost, sum));
		text_builder_format(page->text, "%*s", COUNT_COLUMNS, count);
	}
	text_builder_append(page->text, "   ");
	text_builder_append_fitted(page->text, name, needed < room ? room - needed : 1);
	text_builder_format(page->text, "%s\n", ending);
}

/* --- order: the greatest run time first --- */

static int compare_times(uint64_t left_ns, uint64_t right_ns)
{
	return (left_ns < right_ns) - (left_ns > right_ns);
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_costs *left = *(const struct process_costs *const *)a;
	const struct process_costs *right = *(const struct process_costs *const *)b;
	int order = compare_times(left->sum.run_time_ns, right->sum.run_time_ns);

	return order ? order : (left->key.id > right->key.id) - (left->key.id < right->key.id);
}

static int compare_cgroups(const void *a, const void *b)
{
	const struct cgroup_costs *left = *(const struct cgroup_costs *const *)a;
	const struct cgroup_costs *right = *(const struct cgroup_costs *const *)b;

	return compare_times(left->sum.run_time_ns, right->sum.run_time_ns);
}

/* Pointers to @count items of @bytes each, in order; the caller frees them. NULL without memory. */
static const void **sorted(const void *items, size_t count, size_t bytes,
			   int (*compare)(const void *a, const void *b))
{
	const void **order = calloc(count + 1, sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < count; i++)
		order[i] = (const char *)items + i * bytes;
	qsort(order, count, sizeof(*order), compare);
	return order;
}

static const struct process_costs **sorted_processes(const struct cost_table *table)
{
	return (const struct process_costs **)sorted(table->processes.items, table->processes.count,
						     sizeof(*table->processes.items),
						     compare_processes);
}

static const struct cgroup_costs **sorted_cgroups(const struct cost_table *table)
{
	return (const struct cgroup_costs **)sorted(table->cgroups.items, table->cgroups.count,
						    sizeof(*table->cgroups.items), compare_cgroups);
}

/* --- text --- */

/* Names of processes may have any bytes. */
static void append_comm(struct text_builder *text, const struct process_costs *process)
{
	char comm[COMM_BYTES + 1] = "";

	memcpy(comm, process->comm, COMM_BYTES);
	text_builder_append_name(text, comm);
}

static void put_process(struct page *page, const struct process_costs *process)
{
	struct text_builder name = { 0 };
	char pid[16] = "";

	append_comm(&name, process);
	if (process->key.pid)
		snprintf(pid, sizeof(pid), " (%u)", process->key.pid);
	put_line(page, &process->sum, text_builder_text(&name), pid);
	page->text->failed |= name.failed;
	text_builder_deinit(&name);
}

static int put_processes(struct page *page)
{
	const struct cost_table *table = page->table;
	const struct process_costs **order = sorted_processes(table);
	char name[NAME_BYTES];

	if (!order)
		return -ENOMEM;
	put_title(page, "process, its whole time");
	for (size_t i = 0; i < table->processes.count && i < PROCESSES_MAX; i++)
		put_process(page, order[i]);
	if (table->processes.count > PROCESSES_MAX || table->dropped_count) {
		uint64_t more = table->processes.count > PROCESSES_MAX ?
					table->processes.count - PROCESSES_MAX :
					0;
		struct costs_sum rest = table->dropped;

		for (size_t i = PROCESSES_MAX; i < table->processes.count; i++)
			costs_sum_add(&rest, &order[i]->sum);
		snprintf(name, sizeof(name), "%" PRIu64 " more processes",
			 more + table->dropped_count);
		put_line(page, &rest, name, "");
	}
	free(order);
	if (table->unfitted.run_count)
		put_line(page, &table->unfitted, "processes without room in the kernel's tables",
			 "");
	put_line(page, &table->idle, "idle", "");
	return 0;
}

static void put_cgroup(struct page *page, const struct cgroup_costs *cgroup)
{
	struct text_builder name = { 0 };

	if (cgroup->path)
		text_builder_append_name(&name, cgroup->path);
	else
		text_builder_format(&name, "cgroup with id %" PRIu64, cgroup->id);
	put_line(page, &cgroup->sum, text_builder_text(&name), "");
	page->text->failed |= name.failed;
	text_builder_deinit(&name);
}

static int put_cgroups(struct page *page)
{
	const struct cost_table *table = page->table;
	const struct cgroup_costs **order;

	if (table->cgroups.count < 2)
		return 0;
	order = sorted_cgroups(table);
	if (!order)
		return -ENOMEM;
	put_title(page, "cgroup");
	for (size_t i = 0; i < table->cgroups.count && i < CGROUPS_MAX; i++)
		put_cgroup(page, order[i]);
	if (table->cgroups.count > CGROUPS_MAX)
		text_builder_format(page->text, "%*s%zu more cgroups\n", SHARE_COLUMNS + 1, "",
				    table->cgroups.count - CGROUPS_MAX);
	free(order);
	return 0;
}

/* Where the column of joules comes from. */
static void put_energy(struct page *page)
{
	const struct cost_table *table = page->table;
	bool is_estimated = table->sources & COST_FIRST_ENERGY << ENERGY_HOST;
	struct text_builder line = { 0 };

	if (!(table->sources & COST_ANY_ENERGY))
		return;
	text_builder_append(&line, "energy");
	for (int i = 0; i < ENERGY_KIND_COUNT; i++)
		if (table->sources & COST_FIRST_ENERGY << i)
			text_builder_format(&line, ", %s %.1f J", energy_kind_names[i],
					    table->host.joules[i]);
	text_builder_format(&line, "; %s, shared out by %s",
			    is_estimated ? "estimated (-energy-file)" : "measured by the CPUs",
			    cost_table_shares_by_cycles(table->sources) ? "cycles" : "run time");
	text_builder_append(page->text, "\n ");
	text_builder_append_fitted(page->text, text_builder_text(&line), page->columns - 1);
	text_builder_append(page->text, "\n");
	page->text->failed |= line.failed;
	text_builder_deinit(&line);
}

int cost_report_append(const struct cost_table *table, uint32_t columns, bool has_colours,
		       struct text_builder *text)
{
	struct page page = {
		.table = table,
		.columns = columns,
		.has_colours = has_colours,
		.text = text,
	};
	int err;

	for (size_t i = 0; i < table->cpus.count; i++)
		page.wall_ns += table->cpus.items[i].wall_ns;
	select_columns(&page);
	err = put_processes(&page);
	if (!err)
		err = put_cgroups(&page);
	put_energy(&page);
	return err;
}

/* --- JSON, with the names that Kepler has given to the numbers --- */

static void write_joules(FILE *out, const struct cost_table *table, const struct costs_sum *sum)
{
	const char *separator = ",\"joules\":{";

	if (!(table->sources & COST_ANY_ENERGY))
		return;
	for (int i = 0; i < ENERGY_KIND_COUNT; i++) {
		if (!(table->sources & COST_FIRST_ENERGY << i))
			continue;
		fprintf(out, "%s\"%s\":%.9f", separator, energy_kind_names[i], sum->joules[i]);
		separator = ",";
	}
	fputs("}", out);
}

static void write_sum(FILE *out, const struct cost_table *table, const struct costs_sum *sum)
{
	const uint32_t pages = table->sources & (COST_PAGE_READS | COST_PAGE_WRITES);
	const struct cost_facts facts = cost_table_facts(table);
	double frequency = costs_sum_frequency(sum, &facts);

	fprintf(out, "\"process_run_time\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"vec_nr\":{",
		sum->run_time_ns, sum->run_count);
	for (int i = 0; i < COST_SOFTIRQ_COUNT; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", cost_softirq_names[i],
			sum->softirqs[i]);
	fputs("}", out);
	if (pages)
		fprintf(out, ",\"page_cache_hit\":%" PRIu64, sum->page_reads + sum->page_writes);
	if (pages & COST_PAGE_READS)
		fprintf(out, ",\"page_cache_reads\":%" PRIu64, sum->page_reads);
	if (pages & COST_PAGE_WRITES)
		fprintf(out, ",\"page_cache_writes\":%" PRIu64, sum->page_writes);
	for (uint32_t i = 0; i < COST_COUNTER_COUNT; i++)
		if (table->sources & COST_FIRST_COUNTER << i)
			fprintf(out, ",\"%s\":%" PRIu64, counter_keys[i],
				costs_sum_counter(sum, i));
	if (frequency > 0)
		fprintf(out, ",\"average_frequency\":%.0f", frequency);
	write_joules(out, table, sum);
}

static void write_text(FILE *out, const char *key, const struct text_builder *text)
{
	fprintf(out, ",\"%s\":", key);
	json_text_write(out, text_builder_text(text));
}

static int write_process(FILE *out, const struct cost_table *table,
			 const struct process_costs *process)
{
	struct text_builder comm = { 0 };
	bool has_failed;

	append_comm(&comm, process);
	has_failed = comm.failed;
	fprintf(out, "{\"pid\":%u,\"start_time_ns\":%" PRIu64 ",\"cgroup_id\":%" PRIu64,
		process->key.pid, (uint64_t)process->key.start_time_ns, process->cgroup_id);
	write_text(out, "comm", &comm);
	fprintf(out, ",\"is_kernel_thread\":%s,\"has_ended\":%s,",
		process->is_kernel_thread ? "true" : "false",
		process->has_ended ? "true" : "false");
	write_sum(out, table, &process->sum);
	fputs("}", out);
	text_builder_deinit(&comm);
	return has_failed ? -ENOMEM : 0;
}

static int write_cgroup(FILE *out, const struct cost_table *table,
			const struct cgroup_costs *cgroup)
{
	struct text_builder path = { 0 };
	bool has_failed;

	fprintf(out, "{\"cgroup_id\":%" PRIu64, cgroup->id);
	if (cgroup->path) {
		text_builder_append_name(&path, cgroup->path);
		write_text(out, "path", &path);
	}
	has_failed = path.failed;
	fputs(",", out);
	write_sum(out, table, &cgroup->sum);
	fputs("}", out);
	text_builder_deinit(&path);
	return has_failed ? -ENOMEM : 0;
}

static void write_cpus(FILE *out, const struct cost_table *table)
{
	bool has_any = false;

	fputs("\"cpus\":[", out);
	for (size_t i = 0; i < table->cpus.count; i++) {
		const struct cpu_costs *cpu = &table->cpus.items[i];

		if (!cpu->wall_ns)
			continue;
		fprintf(out,
			"%s{\"cpu\":%zu,\"wall_ns\":%" PRIu64 ",\"idle_ns\":%" PRIu64
			",\"busy_ns\":%" PRIu64 "}",
			has_any ? "," : "", i, cpu->wall_ns, cpu->idle_ns, cpu->busy_ns);
		has_any = true;
	}
	fputs("]", out);
}

static void write_energy(FILE *out, const struct cost_table *table)
{
	if (!(table->sources & COST_ANY_ENERGY))
		return;
	fprintf(out, ",\n\"energy\":{\"source\":\"%s\",\"shared_by\":\"%s\",\"zones\":[",
		table->sources & COST_FIRST_ENERGY << ENERGY_HOST ? "file" : "rapl",
		cost_table_shares_by_cycles(table->sources) ? "cycles" : "run_time");
	for (size_t i = 0; i < table->zones.count; i++) {
		const struct energy_zone *zone = &table->zones.items[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		json_text_write(out, zone->name);
		fprintf(out, ",\"kind\":\"%s\",\"joules\":%.9f,\"gaps\":%" PRIu64 "}",
			energy_kind_names[zone->kind], zone->joules, zone->gap_count);
	}
	fputs("]}", out);
}

static void write_rest(FILE *out, const struct cost_table *table, const char *key,
		       const struct costs_sum *sum)
{
	fprintf(out, ",\n\"%s\":{", key);
	write_sum(out, table, sum);
	fputs("}", out);
}

int cost_report_write_json(FILE *out, const struct cost_table *table)
{
	const struct process_costs **processes = sorted_processes(table);
	const struct cgroup_costs **cgroups = sorted_cgroups(table);
	int err = processes && cgroups ? 0 : -ENOMEM;

	fputs("{", out);
	write_cpus(out, table);
	fputs(",\n\"processes\":[", out);
	for (size_t i = 0; i < table->processes.count && !err; i++) {
		fputs(i ? ",\n" : "\n", out);
		err = write_process(out, table, processes[i]);
	}
	fputs("],\n\"cgroups\":[", out);
	for (size_t i = 0; i < table->cgroups.count && !err; i++) {
		fputs(i ? ",\n" : "\n", out);
		err = write_cgroup(out, table, cgroups[i]);
	}
	fputs("]", out);
	write_rest(out, table, "idle", &table->idle);
	write_rest(out, table, "unfitted", &table->unfitted);
	fprintf(out, ",\n\"dropped_processes\":%" PRIu64, table->dropped_count);
	write_rest(out, table, "dropped", &table->dropped);
	write_rest(out, table, "host", &table->host);
	write_energy(out, table);
	fputs("}", out);
	free(processes);
	free(cgroups);
	return err;
}
