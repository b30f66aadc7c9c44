/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples are read twice: once to count those of each row, and once for the times of the rows that are shown. Times of all
 * rows would take memory for each process that ever ran.
 */
#include "viewer/api_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "reporter/weights.h"
#include "viewer/api_time.h"
#include "viewer/process_costs.h"
#include "viewer/process_rows.h"

enum {
	ROWS = 200,
	ROWS_MAX = 2000,
	BUCKETS = 40,
	BUCKETS_MAX = 200,
	/* "CPUs now" are those of so much time. */
	NOW_MS = 5000,
	NUMBER_FILTERS_MAX = 8,
	MS_PER_SECOND = 1000,
};

/* Columns of numbers, behind those of texts. */
enum number_column {
	NUMBER_CPUS = ROW_COLUMN_COUNT,
	NUMBER_SHARE,
	NUMBER_SAMPLES,
	NUMBER_QUALITY,
	NUMBER_PROCESSES,
	NUMBER_FIRST_COST,
	NUMBER_CPU_TIME = NUMBER_FIRST_COST,
	NUMBER_SOFTIRQS,
	NUMBER_PAGE_READS,
	NUMBER_PAGE_WRITES,
	NUMBER_PAGE_FAULTS,
	NUMBER_CYCLES,
	NUMBER_INSTRUCTIONS,
	NUMBER_CACHE_MISSES,
	NUMBER_FREQUENCY,
	NUMBER_JOULES,
	COLUMN_COUNT,
};

static const char *const number_names[COLUMN_COUNT - ROW_COLUMN_COUNT] = {
	"cpus",	    "share",	    "samples",	    "quality",	   "processes",
	"cpu_time", "softirqs",	    "page_reads",   "page_writes", "page_faults",
	"cycles",   "instructions", "cache_misses", "frequency",   "joules",
};

/* The costs (enum sample_weight) of these columns, by their position among them. */
static const uint8_t column_costs[COLUMN_COUNT - NUMBER_FIRST_COST] = {
	WEIGHT_RUN_TIME,
	WEIGHT_SOFTIRQS,
	WEIGHT_PAGE_READS,
	WEIGHT_PAGE_WRITES,
	WEIGHT_PAGE_FAULTS,
	WEIGHT_CYCLES,
	WEIGHT_INSTRUCTIONS,
	WEIGHT_CACHE_MISSES,
	/* The frequency is none. */
	0,
	WEIGHT_JOULES,
};

/* Sums of a row. */
struct row_counts {
	uint64_t samples;
	uint64_t complete;
	uint64_t now;
};

VECTOR_DEFINE(row_counts_vector, struct row_counts)

struct number_filter {
	int column;
	bool is_most;
	double limit;
};

struct table {
	struct process_rows rows;
	struct row_counts_vector counts;
	struct number_filter filters[NUMBER_FILTERS_MAX];
	size_t filter_count;
	uint64_t total;
	/* Costs of the whole run. Only rows that are one process have any. */
	struct process_costs_by_pid costs;
	/* The time of "now": its start, and its length. */
	uint64_t now_from_ms;
	uint64_t now_ms;
	int sort_column;
	bool is_reversed;
	/* Indexes of the rows that pass the filters, sorted. */
	struct number_vector order;
};

static void table_deinit(struct table *table)
{
	process_rows_deinit(&table->rows);
	row_counts_vector_deinit(&table->counts);
	number_vector_deinit(&table->order);
	process_costs_deinit(&table->costs);
}

/* --- the request --- */

static int column_by_name(const char *name, size_t length)
{
	for (int i = 0; i < COLUMN_COUNT - ROW_COLUMN_COUNT; i++)
		if (strlen(number_names[i]) == length && !memcmp(number_names[i], name, length))
			return ROW_COLUMN_COUNT + i;
	return row_column_by_name(name, length);
}

/* "COLUMN:5" and "COLUMN:>5" are at least 5, "COLUMN:<5" is at most 5. */
static int add_number_filter(struct table *table, const char *text)
{
	const char *colon = strchr(text, ':'), *number;
	int column = colon ? column_by_name(text, (size_t)(colon - text)) : -1;
	struct number_filter *filter = &table->filters[table->filter_count];
	char *end;

	if (column < 0)
		return fail(-EINVAL, "with is COLUMN:TEXT, and there is no such column");
	if (column < ROW_COLUMN_COUNT || !colon[1])
		return 0;
	if (table->filter_count == NUMBER_FILTERS_MAX)
		return fail(-EINVAL, "at most %d filters of numbers", NUMBER_FILTERS_MAX);
	number = colon + 1 + (colon[1] == '<' || colon[1] == '>');
	*filter = (struct number_filter){ .column = column, .is_most = colon[1] == '<' };
	filter->limit = strtod(number, &end);
	if (end == number || *end)
		return fail(-EINVAL,
			    "%s is compared with a number: 5 or >5 is at least 5, <5 at most 5",
			    number_names[column - ROW_COLUMN_COUNT]);
	table->filter_count++;
	return 0;
}

static int read_order(struct table *table, const struct api_request *request)
{
	const char *sort = request_parameter(request, "sort");
	const char *reverse = request_parameter(request, "reverse");

	table->sort_column = sort ? column_by_name(sort, strlen(sort)) : NUMBER_SAMPLES;
	table->is_reversed = reverse && !strcmp(reverse, "1");
	return table->sort_column < 0 ? fail(-EINVAL, "sort is a column of the table") : 0;
}

static int read_request(struct table *table, struct question *question)
{
	const struct api_request *request = question->request;
	int err = process_rows_init(&table->rows, question);

	if (!err)
		err = read_order(table, request);
	for (size_t i = 0; i < request->parameter_count && !err; i++)
		if (!strcmp(request->parameters[i].name, "with"))
			err = add_number_filter(table, request->parameters[i].value);
	return err;
}

/* --- counting --- */

/* The last moments of the selection; where samples come late, these are not taken for idle ones. */
static void set_now(struct table *table, const struct question *question, uint64_t from_ms)
{
	uint64_t end_ms = question_now_ms(question);

	if (end_ms < question->end_ms + MS_PER_SECOND)
		end_ms = question->end_ms;
	if (end_ms > question->selection.to_ms)
		end_ms = question->selection.to_ms;
	table->now_from_ms = end_ms > from_ms + NOW_MS ? end_ms - NOW_MS : from_ms;
	table->now_ms = end_ms > table->now_from_ms ? end_ms - table->now_from_ms : 1;
}

static int count_sample(struct table *table, const struct history_sample *sample)
{
	struct question *question = table->rows.question;
	uint64_t ms = question_ms(question, sample->time_ns);
	struct row_counts *counts;
	uint32_t index;
	int err = process_rows_find(&table->rows, sample, &index);

	if (err || index == PROCESS_ROW_NONE)
		return err;
	while (!err && table->counts.count <= index)
		err = row_counts_vector_push(&table->counts, (struct row_counts){ 0 });
	if (err)
		return err;
	counts = &table->counts.items[index];
	counts->samples += (uint64_t)sample->value;
	if (history_key_is_complete(&question->view.keys, sample->key))
		counts->complete += (uint64_t)sample->value;
	if (ms >= table->now_from_ms && ms < table->now_from_ms + table->now_ms)
		counts->now += (uint64_t)sample->value;
	return 0;
}

static int count_rows(struct table *table, struct question *question)
{
	struct history_sample sample;
	unsigned int misses;
	int more, err = 0;

	question_seek(question, question->selection.from_ms, question->selection.to_ms);
	while (!err && (more = question_next(question, &sample, &misses)) > 0) {
		if (misses)
			continue;
		table->total += (uint64_t)sample.value;
		err = count_sample(table, &sample);
	}
	return err ? err : more;
}

/* --- order --- */

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)(int64_t)part / (double)(int64_t)whole : 0;
}

/* The costs of a row; NULL if they are not known. Those of other machines are not. */
static const struct costs_sum *costs_of(const struct table *table, uint32_t index)
{
	const struct process_row *row = &table->rows.items.items[index];
	char text[ROW_TEXT_BYTES];

	if (!table->costs.is_counted || table->rows.grouping != ROWS_BY_PROCESS ||
	    *row_column_text(table->rows.question, row->key, ROW_HOST, text))
		return NULL;
	return process_costs_find(&table->costs, row->key->pid);
}

/* CPU time is in seconds, the frequency in Hz. */
static double cost_of(const struct table *table, const struct costs_sum *costs, int column)
{
	if (!costs)
		return 0;
	switch (column) {
	case NUMBER_CPU_TIME:
		return (double)costs->run_time_ns / NS_PER_SECOND;
	case NUMBER_FREQUENCY:
		return costs_sum_frequency(costs, &table->costs.facts);
	case NUMBER_JOULES:
		return costs_sum_joules(costs);
	default:
		return (double)weight_count(column_costs[column - NUMBER_FIRST_COST], costs);
	}
}

/* The number as the page shows it: shares and qualities are percent. */
static double number_of(const struct table *table, uint32_t index, int column)
{
	const struct api_config *config = &table->rows.question->api->config;
	const struct row_counts *counts = &table->counts.items[index];

	if (column >= NUMBER_FIRST_COST)
		return cost_of(table, costs_of(table, index), column);
	switch (column) {
	case NUMBER_CPUS:
		return ratio(counts->now * MS_PER_SECOND,
			     config->samples_per_second * table->now_ms);
	case NUMBER_SHARE:
		return 100 * ratio(counts->samples, table->total);
	case NUMBER_QUALITY:
		return 100 * ratio(counts->complete, counts->samples);
	case NUMBER_PROCESSES:
		return table->rows.items.items[index].process_count;
	case NUMBER_SAMPLES:
	default:
		return (double)(int64_t)counts->samples /
		       (double)value_type_scale(question_type(table->rows.question));
	}
}

static bool passes(const struct table *table, uint32_t index)
{
	for (size_t i = 0; i < table->filter_count; i++) {
		const struct number_filter *filter = &table->filters[i];
		double number = number_of(table, index, filter->column);

		if (filter->is_most ? number > filter->limit : number < filter->limit)
			return false;
	}
	return true;
}

static int compare_numbers(double one, double other)
{
	return (one < other) - (one > other);
}

/* Texts that are not known, or differ within the row, come last. */
static int compare_texts(const struct table *table, const struct process_row *one,
			 const struct process_row *other, int column)
{
	const struct question *question = table->rows.question;
	char first[ROW_TEXT_BYTES], second[ROW_TEXT_BYTES];
	const char *a = row_column_text(question, one->key, (enum row_column)column, first);
	const char *b = row_column_text(question, other->key, (enum row_column)column, second);
	bool lacks_a = !*a || one->differing & 1U << column;
	bool lacks_b = !*b || other->differing & 1U << column;
	int order;

	if (lacks_a || lacks_b)
		return lacks_a - lacks_b;
	if (column == ROW_PID)
		order = (one->key->pid > other->key->pid) - (one->key->pid < other->key->pid);
	else
		order = strcmp(a, b);
	return table->is_reversed ? -order : order;
}

/* Numbers are sorted from the greatest on, texts from the first on, unless that is reversed. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct table *table = context;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	int column = table->sort_column, order;

	if (column < ROW_COLUMN_COUNT) {
		order = compare_texts(table, &table->rows.items.items[one],
				      &table->rows.items.items[other], column);
	} else {
		order = compare_numbers(number_of(table, one, column),
					number_of(table, other, column));
		if (table->is_reversed)
			order = -order;
	}
	if (!order)
		order = compare_numbers(number_of(table, one, NUMBER_SAMPLES),
					number_of(table, other, NUMBER_SAMPLES));
	return order ? order : (one > other) - (one < other);
}

static int sort_rows(struct table *table)
{
	int err = 0;

	for (uint32_t i = 0; i < table->counts.count && !err; i++)
		if (passes(table, i))
			err = number_vector_push(&table->order, i);
	if (!err && table->order.count)
		qsort_r(table->order.items, table->order.count, sizeof(table->order.items[0]),
			compare_rows, table);
	return err;
}

/* --- times --- */

struct row_times {
	uint64_t from_ms;
	uint64_t to_ms;
	uint64_t step_ms;
	size_t bucket_count;
	/* By the row's slot in the order, then by bucket. */
	uint64_t *counts;
	/* By the row's index: its slot in the order plus 1; 0: it is not shown. */
	uint32_t *slots;
};

static void row_times_deinit(struct row_times *times)
{
	free(times->counts);
	free(times->slots);
}

static int count_times(struct table *table, struct question *question, size_t shown,
		       struct row_times *times)
{
	struct history_sample sample;
	unsigned int misses;
	int more, err = 0;

	times->counts = calloc(shown * times->bucket_count + 1, sizeof(*times->counts));
	times->slots = calloc(table->counts.count + 1, sizeof(*times->slots));
	if (!times->counts || !times->slots)
		return -ENOMEM;
	for (size_t i = 0; i < shown; i++)
		times->slots[table->order.items[i]] = (uint32_t)i + 1;
	question_seek(question, times->from_ms, times->to_ms);
	while (!err && (more = question_next(question, &sample, &misses)) > 0) {
		uint64_t ms = question_ms(question, sample.time_ns);
		uint32_t index, slot;
		size_t bucket;

		if (misses || ms < times->from_ms)
			continue;
		err = process_rows_find(&table->rows, &sample, &index);
		if (err || index == PROCESS_ROW_NONE)
			continue;
		/* The samples are the same as before: no row is new. */
		slot = times->slots[index];
		bucket = (ms - times->from_ms) / times->step_ms;
		if (slot && bucket < times->bucket_count)
			times->counts[(slot - 1) * times->bucket_count + bucket] +=
				(uint64_t)sample.value;
	}
	return err ? err : more;
}

/* --- JSON --- */

static void put_column(const struct table *table, const struct process_row *row,
		       enum row_column column, json_t *object)
{
	char text[ROW_TEXT_BYTES];

	if (row->differing & 1U << column)
		json_object_set_new(object, row_column_names[column], json_null());
	else
		put_text(object, row_column_names[column],
			 row_column_text(table->rows.question, row->key, column, text));
}

/* Numbers by which a click filters. */
static void put_numbers(const struct table *table, const struct process_row *row, json_t *object)
{
	if (!(row->differing & 1U << ROW_PID) && row->key->pid != SAMPLE_NO_NUMBER)
		put_number(object, "pid", row->key->pid);
	if (!(row->differing & 1U << ROW_PARENT))
		put_number(object, "parent_pid", sample_parent(row->key));
	if (table->rows.grouping == ROWS_BY_THREAD && row->key->tid != SAMPLE_NO_NUMBER)
		put_number(object, "tid", row->key->tid);
	if (table->rows.grouping == ROWS_BY_CPU)
		put_number(object, "cpu", row->cpu);
}

static bool is_counted(const struct table *table, int column)
{
	const struct cost_facts *facts = &table->costs.facts;

	if (!table->costs.is_counted || table->rows.grouping != ROWS_BY_PROCESS)
		return false;
	if (column == NUMBER_FREQUENCY)
		return facts->reference_hz > 0;
	return weight_is_counted(column_costs[column - NUMBER_FIRST_COST], facts->sources);
}

static void put_costs(const struct table *table, uint32_t index, json_t *object)
{
	const struct costs_sum *costs = costs_of(table, index);

	for (int column = NUMBER_FIRST_COST; costs && column < COLUMN_COUNT; column++)
		if (is_counted(table, column))
			json_object_set_new(object, number_names[column - ROW_COLUMN_COUNT],
					    json_real(cost_of(table, costs, column)));
}

static json_t *cost_columns_json(const struct table *table)
{
	json_t *names = json_array();

	for (int column = NUMBER_FIRST_COST; column < COLUMN_COUNT; column++)
		if (is_counted(table, column))
			json_array_append_new(names,
					      json_string(number_names[column - ROW_COLUMN_COUNT]));
	return names;
}

/* How the column of joules is made. */
static void put_energy(const struct table *table, json_t *object)
{
	bool is_estimated = table->costs.facts.sources & COST_FIRST_ENERGY << ENERGY_HOST;
	bool by_cycles = cost_table_shares_by_cycles(table->costs.facts.sources);
	json_t *energy;

	if (!is_counted(table, NUMBER_JOULES))
		return;
	energy = json_object();
	json_object_set_new(energy, "source", json_string(is_estimated ? "file" : "rapl"));
	json_object_set_new(energy, "shared_by", json_string(by_cycles ? "cycles" : "run_time"));
	json_object_set_new(object, "energy", energy);
}

static json_t *row_json(const struct table *table, uint32_t index, const uint64_t *times,
			size_t bucket_count)
{
	const struct question *question = table->rows.question;
	const struct process_row *row = &table->rows.items.items[index];
	const struct row_counts *counts = &table->counts.items[index];
	json_t *object = json_object(), *array = json_array();
	char id[ROW_ID_BYTES];

	process_row_write_id(row->id, id);
	json_object_set_new(object, "id", json_string(id));
	for (int column = 0; column < ROW_COLUMN_COUNT; column++)
		if (column != ROW_PID &&
		    (column != ROW_THREAD || table->rows.grouping == ROWS_BY_THREAD))
			put_column(table, row, (enum row_column)column, object);
	put_numbers(table, row, object);
	put_number(object, "processes", row->process_count);
	put_value(question, object, "samples", counts->samples);
	put_value(question, object, "complete", counts->complete);
	put_value(question, object, "now", counts->now);
	put_costs(table, index, object);
	for (size_t i = 0; i < bucket_count; i++)
		json_array_append_new(array, value_json(question, times[i]));
	json_object_set_new(object, "counts", array);
	return object;
}

static void put_rows(const struct table *table, const struct row_times *times, size_t shown,
		     json_t *object)
{
	json_t *array = json_array();

	put_value(table->rows.question, object, "total", table->total);
	put_number(object, "rows_total", table->order.count);
	put_number(object, "now_ms", table->now_ms);
	put_number(object, "from", times->from_ms);
	put_number(object, "to", times->to_ms);
	put_number(object, "step_ms", times->step_ms);
	json_object_set_new(object, "has_command_lines",
			    json_boolean(table->rows.question->api->config.shows_command_lines));
	json_object_set_new(object, "costs", cost_columns_json(table));
	put_energy(table, object);
	if (table->costs.is_counted && table->costs.facts.missing)
		json_object_set_new(object, "not_counted", json_string(table->costs.facts.missing));
	for (size_t i = 0; i < shown; i++)
		json_array_append_new(array, row_json(table, table->order.items[i],
						      &times->counts[i * times->bucket_count],
						      times->bucket_count));
	json_object_set_new(object, "rows", array);
}

int answer_processes(struct question *question, json_t *object)
{
	_cleanup_(table_deinit) struct table table = { 0 };
	_cleanup_(row_times_deinit) struct row_times times = { 0 };
	uint64_t limit, buckets;
	size_t shown;
	int err = request_number(question->request, "limit", 1, ROWS_MAX, ROWS, &limit);

	if (!err)
		err = request_number(question->request, "buckets", 1, BUCKETS_MAX, BUCKETS,
				     &buckets);
	if (!err)
		err = read_request(&table, question);
	if (err)
		return err;
	times.bucket_count =
		time_buckets(question, buckets, &times.from_ms, &times.to_ms, &times.step_ms);
	set_now(&table, question, times.from_ms);
	err = count_rows(&table, question);
	if (!err)
		err = process_costs_read(&table.costs, &question->api->config);
	if (!err)
		err = sort_rows(&table);
	if (err)
		return err;
	shown = table.order.count < limit ? table.order.count : limit;
	err = count_times(&table, question, shown, &times);
	if (!err)
		put_rows(&table, &times, shown, object);
	return err;
}
