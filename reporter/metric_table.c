/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/metric_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/model/trace.h"
#include "reporter/summary.h"

/* Units of the table of metrics. A value in a smaller unit of time is divided. */
static const struct {
	const char *unit;
	const char *ucum;
	double divisor;
} units[] = {
	{ "bytes", "By", 0 },
	{ "ms", "s", 1e3 },
	{ "ns", "s", 1e9 },
	{ "calls", "{call}", 0 },
	{ "points", "{data_point}", 0 },
	{ "entries", "{entry}", 0 },
	{ "events", "{event}", 0 },
	{ "files", "{file}", 0 },
	{ "frames", "{frame}", 0 },
	{ "processes", "{process}", 0 },
	{ "profiles", "{profile}", 0 },
	{ "requests", "{request}", 0 },
	{ "runs", "{run}", 0 },
	{ "runtimes", "{runtime}", 0 },
	{ "samples", "{sample}", 0 },
	{ "stacks", "{stack}", 0 },
	{ "syncs", "{sync}", 0 },
	{ "traces", "{trace}", 0 },
};

enum { UNIT_COUNT = sizeof(units) / sizeof(units[0]) };

static size_t find_unit(const char *unit)
{
	size_t i;

	for (i = 0; i < UNIT_COUNT && strcmp(units[i].unit, unit) != 0; i++)
		;
	return i;
}

const char *metric_table_unit(const char *unit)
{
	size_t index = find_unit(unit);

	return index < UNIT_COUNT ? units[index].ucum : NULL;
}

void metric_table_begin(struct metric_table *table, const struct metric_family *family)
{
	struct metric_family begun = *family;

	begun.first_row = table->rows.count;
	begun.row_count = 0;
	table->failed |= metric_family_vector_push(&table->families, begun) != 0;
}

void metric_table_put(struct metric_table *table, const struct metric_row *row)
{
	if (table->failed)
		return;
	table->failed = metric_row_vector_push(&table->rows, *row) != 0;
	table->families.items[table->families.count - 1].row_count += !table->failed;
}

const char *metric_table_copy(struct metric_table *table, const char *text)
{
	char *copy = table->failed ? NULL : strdup(text);

	if (copy && !metric_text_vector_push(&table->texts, copy))
		return copy;
	free(copy);
	table->failed = true;
	return "";
}

static void put_number(struct metric_table *table, uint64_t number)
{
	metric_table_put(table, &(struct metric_row){ .number = number });
}

static void put_fraction(struct metric_table *table, double fraction)
{
	metric_table_put(table, &(struct metric_row){ .is_fraction = true, .fraction = fraction });
}

static void put_labelled(struct metric_table *table, const char *key, const char *value,
			 uint64_t number)
{
	metric_table_put(table, &(struct metric_row){ .labels = { { key, value } },
						      .label_count = 1,
						      .number = number });
}

/* Each tick of the sampling clock is in exactly one class; some are known only when the agent ends. */
static void put_ticks(struct metric_table *table, const struct run_summary *summary)
{
	static const struct metric_family family = {
		.name = "allframes.ticks",
		.unit = "{tick}",
		.meaning = "ticks of the sampling clock on all CPUs, by class",
	};

	metric_table_begin(table, &family);
	put_labelled(table, "class", "busy", summary->samples.samples);
	put_labelled(table, "class", "idle", summary->idle);
	put_labelled(table, "class", "unselected", summary->unselected);
	put_labelled(table, "class", "stolen", summary->stolen);
	put_labelled(table, "class", "lost_ring_full", summary->lost_ring_full);
	put_labelled(table, "class", "lost_skipped", summary->lost_skipped);
	put_labelled(table, "class", "lost_dropped", summary->lost_dropped);
}

static void put_stacks(struct metric_table *table, const struct sample_totals *samples)
{
	static const struct metric_family family = {
		.name = "allframes.stacks",
		.unit = "{stack}",
		.meaning = "stacks of busy samples, by quality; one may be in no class",
	};
	uint64_t errors = 0;

	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		errors += samples->errors[error];
	metric_table_begin(table, &family);
	put_labelled(table, "quality", "complete", samples->complete);
	put_labelled(table, "quality", "guess", samples->guesses);
	put_labelled(table, "quality", "error", errors);
}

static void put_unwind_errors(struct metric_table *table, const struct metrics_snapshot *metrics)
{
	static const struct metric_family family = {
		.name = "allframes.unwind_errors",
		.unit = "{unwind}",
		.meaning = "unwinds that ended before the thread's first function, by reason",
	};

	metric_table_begin(table, &family);
	for (int error = UNWIND_OK + 1; error < UNWIND_ERROR_COUNT; error++)
		put_labelled(table, "error", unwind_error_name(error),
			     metrics->values[COUNTER_ERRORS + error]);
}

static enum metric_family_kind kind_of(const struct metric_description *description, bool is_time)
{
	if (!description->is_state)
		return FAMILY_COUNTER;
	return is_time ? FAMILY_GAUGE : FAMILY_UP_DOWN_COUNTER;
}

static void put_metric(struct metric_table *table, enum metric metric, uint64_t value)
{
	const struct metric_description *description = metric_describe(metric);
	size_t unit = find_unit(description->unit);
	struct metric_family family = { .meaning = description->meaning };

	assert(unit < UNIT_COUNT);
	family.unit = units[unit].ucum;
	family.kind = kind_of(description, units[unit].divisor > 0);
	snprintf(family.name, sizeof(family.name), "allframes.%s", description->name);
	metric_table_begin(table, &family);
	if (units[unit].divisor > 0)
		put_fraction(table, (double)value / units[unit].divisor);
	else
		put_number(table, value);
}

static void put_metrics(struct metric_table *table, const struct metrics_snapshot *metrics)
{
	for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
		if (metric < (enum metric)COUNTER_ERRORS || metric >= METRIC_FIRST_USER)
			put_metric(table, metric, metrics->values[metric]);
}

static void put_build(struct metric_table *table, const char *version)
{
	/* In OTLP it is an attribute of the resource. */
	static const struct metric_family family = {
		.prometheus_name = "allframes_build_info",
		.unit = "",
		.meaning = "version of the agent",
		.kind = FAMILY_GAUGE,
	};

	metric_table_begin(table, &family);
	put_labelled(table, "version", version, 1);
}

/* Families that all programs have: opentelemetry.io/docs/specs/semconv/system/process-metrics. */
static void put_usage(struct metric_table *table, const struct process_usage *usage,
		      double start_seconds)
{
	static const struct metric_family cpu_time = {
		.name = "process.cpu.time",
		.prometheus_name = "process_cpu_seconds",
		.unit = "s",
		.meaning = "CPU time of the agent's main process",
	};
	static const struct metric_family start_time = {
		.prometheus_name = "process_start_time_seconds",
		.unit = "s",
		.meaning = "when the agent was started, in seconds since 1970",
		.kind = FAMILY_GAUGE,
	};
	const struct {
		struct metric_family family;
		uint64_t value;
	} rows[] = {
		{ { .name = "process.memory.usage",
		    .prometheus_name = "process_resident_memory_bytes",
		    .unit = "By",
		    .meaning = "resident memory of the agent's main process" },
		  usage->resident_bytes },
		{ { .name = "process.memory.virtual",
		    .prometheus_name = "process_virtual_memory_bytes",
		    .unit = "By",
		    .meaning = "virtual memory of the agent's main process" },
		  usage->virtual_bytes },
		{ { .name = "process.unix.file_descriptor.count",
		    .prometheus_name = "process_open_fds",
		    .unit = "{file_descriptor}",
		    .meaning = "open file descriptors of the agent's main process" },
		  usage->open_fds },
		{ { .prometheus_name = "process_max_fds",
		    .unit = "{file_descriptor}",
		    .meaning = "limit of open file descriptors" },
		  usage->max_fds },
	};

	metric_table_begin(table, &cpu_time);
	put_fraction(table, usage->cpu_seconds);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metric_family family = rows[i].family;

		family.kind = FAMILY_UP_DOWN_COUNTER;
		metric_table_begin(table, &family);
		put_number(table, rows[i].value);
	}
	metric_table_begin(table, &start_time);
	put_fraction(table, start_seconds);
}

void metric_table_fill(struct metric_table *table, const struct metric_table_input *input)
{
	struct run_summary summary;

	run_summary_collect(&summary, input->samples, input->metrics);
	put_build(table, input->version);
	put_ticks(table, &summary);
	put_stacks(table, input->samples);
	put_unwind_errors(table, input->metrics);
	put_metrics(table, input->metrics);
	put_usage(table, input->usage, (double)input->start_ns / NS_PER_SECOND);
}

void metric_table_deinit(struct metric_table *table)
{
	metric_family_vector_deinit(&table->families);
	metric_row_vector_deinit(&table->rows);
	for (size_t i = 0; i < table->texts.count; i++)
		free(table->texts.items[i]);
	metric_text_vector_deinit(&table->texts);
	*table = (struct metric_table){ 0 };
}
