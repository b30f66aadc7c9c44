/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_time.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "viewer/process_rows.h"

enum {
	BUCKETS = 600,
	BUCKETS_MAX = 2000,
	HEAT_ROWS = 50,
	HEAT_ROWS_MAX = 200,
	HEAT_COLUMNS_MAX = 7200,
	MS_PER_SECOND = 1000,
	/* So one sample more or less is a tenth of a busy CPU at most. */
	BUCKET_PERIODS_MIN = 10,
};

/* Consecutive time ranges from @from_ms, one per count. */
struct cells {
	uint64_t from_ms;
	uint64_t to_ms;
	uint64_t *counts;
	/* Counts of all samples, selected or not. */
	uint64_t *all;
	size_t count;
};

static void cells_deinit(struct cells *cells)
{
	free(cells->counts);
	free(cells->all);
}

/* Sets the requested range, clipped to the samples. */
static void clip_range(const struct question *question, struct cells *cells)
{
	cells->from_ms = question->selection.from_ms;
	cells->to_ms = question->selection.to_ms;
	if (cells->from_ms < question->first_ms)
		cells->from_ms = question->first_ms;
	if (cells->to_ms > question->end_ms)
		cells->to_ms = question->end_ms;
	if (cells->to_ms <= cells->from_ms)
		cells->to_ms = cells->from_ms + 1;
}

static json_t *counts_json(const struct question *question, const uint64_t *counts, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, value_json(question, counts[i]));
	return array;
}

/* Counts the selected samples; @cell_of maps milliseconds since cells->from_ms to a cell. */
static int count_cells(struct question *question, struct cells *cells,
		       size_t (*cell_of)(const void *context, uint64_t ms), const void *context)
{
	struct history_sample sample;
	unsigned int misses;
	int more;

	cells->counts = calloc(cells->count + 1, sizeof(*cells->counts));
	cells->all = calloc(cells->count + 1, sizeof(*cells->all));
	if (!cells->counts || !cells->all)
		return -ENOMEM;
	question_seek(question, cells->from_ms, cells->to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		uint64_t ms = question_ms(question, sample.time_ns);
		size_t cell;

		if (ms < cells->from_ms)
			continue;
		cell = cell_of(context, ms - cells->from_ms);
		if (cell >= cells->count)
			continue;
		cells->all[cell] += (uint64_t)sample.value;
		if (!misses)
			cells->counts[cell] += (uint64_t)sample.value;
	}
	return more;
}

static size_t bucket_of(const void *context, uint64_t ms)
{
	return ms / *(const uint64_t *)context;
}

/*
 * The least whole number of sampling periods that is @step_ms or more: else a busy CPU would have now
 * more and now fewer samples in a bucket, and none in many short ones.
 */
static uint64_t whole_periods(const struct question *question, uint64_t step_ms)
{
	uint64_t rate = question->api->config.samples_per_second;
	uint64_t periods = (step_ms * rate + MS_PER_SECOND - 1) / MS_PER_SECOND;

	if (!rate)
		return step_ms;
	if (periods < BUCKET_PERIODS_MIN)
		periods = BUCKET_PERIODS_MIN;
	return (periods * MS_PER_SECOND + rate - 1) / rate;
}

size_t time_buckets(const struct question *question, uint64_t most, uint64_t *from_ms,
		    uint64_t *to_ms, uint64_t *step_ms)
{
	struct cells cells;

	/* The requested range, with or without samples, so that it becomes the page's axis. */
	clip_range(question, &cells);
	if (question->selection.from_ms)
		cells.from_ms = question->selection.from_ms;
	if (question->selection.to_ms != UINT64_MAX)
		cells.to_ms = question->selection.to_ms;
	if (cells.to_ms <= cells.from_ms)
		cells.to_ms = cells.from_ms + 1;
	*from_ms = cells.from_ms;
	*to_ms = cells.to_ms;
	*step_ms = whole_periods(question, (cells.to_ms - cells.from_ms - 1) / most + 1);
	return (cells.to_ms - cells.from_ms - 1) / *step_ms + 1;
}

/* Adds the samples of the rows that the request names. */
static int put_stack(struct question *question, const struct cells *cells, uint64_t step_ms,
		     json_t *object)
{
	_cleanup_(stacked_rows_deinit) struct stacked_rows stacked = { 0 };
	_cleanup_(free_pointer) uint64_t *counts = NULL;
	struct history_sample sample;
	unsigned int misses;
	json_t *array;
	int more, err = stacked_rows_init(&stacked, question);

	if (err)
		return err;
	counts = calloc(cells->count * STACKED_ROWS_MAX + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	question_seek(question, cells->from_ms, cells->to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		uint64_t ms = question_ms(question, sample.time_ns);
		int slot;

		if (misses || ms < cells->from_ms ||
		    (ms - cells->from_ms) / step_ms >= cells->count)
			continue;
		err = stacked_rows_find(&stacked, &sample, &slot);
		if (err)
			return err;
		if (slot >= 0)
			counts[(size_t)slot * cells->count + (ms - cells->from_ms) / step_ms] +=
				(uint64_t)sample.value;
	}
	if (more)
		return more;
	array = json_array();
	for (int i = 0; i < stacked.count; i++)
		json_array_append_new(array,
				      counts_json(question, &counts[(size_t)i * cells->count],
						  cells->count));
	json_object_set_new(object, "stack", array);
	return 0;
}

int answer_timeline(struct question *question, json_t *object)
{
	_cleanup_(cells_deinit) struct cells cells = { 0 };
	uint64_t buckets, step_ms;
	int err = request_number(question->request, "buckets", 1, BUCKETS_MAX, BUCKETS, &buckets);

	if (err)
		return err;
	cells.count = time_buckets(question, buckets, &cells.from_ms, &cells.to_ms, &step_ms);
	err = count_cells(question, &cells, bucket_of, &step_ms);
	if (err)
		return err;
	put_number(object, "from", cells.from_ms);
	put_number(object, "to", cells.to_ms);
	put_number(object, "step_ms", step_ms);
	json_object_set_new(object, "counts", counts_json(question, cells.counts, cells.count));
	json_object_set_new(object, "all", counts_json(question, cells.all, cells.count));
	return request_parameter(question->request, "rows") ?
		       put_stack(question, &cells, step_ms, object) :
		       0;
}

struct heat {
	uint64_t rows;
	uint64_t seconds_per_column;
};

static size_t heat_cell(const void *context, uint64_t ms)
{
	const struct heat *heat = context;

	return ms / (heat->seconds_per_column * MS_PER_SECOND) * heat->rows +
	       ms % MS_PER_SECOND * heat->rows / MS_PER_SECOND;
}

static uint64_t greatest(const uint64_t *counts, size_t count)
{
	uint64_t most = 0;

	/* A sum below 0 is less than all others. */
	for (size_t i = 0; i < count; i++)
		most = (int64_t)counts[i] > (int64_t)most ? counts[i] : most;
	return most;
}

int answer_heatmap(struct question *question, json_t *object)
{
	_cleanup_(cells_deinit) struct cells cells = { 0 };
	struct heat heat;
	uint64_t seconds, columns, most;
	int err =
		request_number(question->request, "rows", 1, HEAT_ROWS_MAX, HEAT_ROWS, &heat.rows);

	if (!err)
		err = request_number(question->request, "columns", 1, HEAT_COLUMNS_MAX,
				     HEAT_COLUMNS_MAX, &most);
	if (err)
		return err;
	clip_range(question, &cells);
	cells.from_ms -= cells.from_ms % MS_PER_SECOND;
	seconds = (cells.to_ms - cells.from_ms - 1) / MS_PER_SECOND + 1;
	heat.seconds_per_column = (seconds - 1) / most + 1;
	columns = (seconds - 1) / heat.seconds_per_column + 1;
	cells.count = columns * heat.rows;
	err = count_cells(question, &cells, heat_cell, &heat);
	if (!err) {
		put_number(object, "from", cells.from_ms);
		put_number(object, "columns", columns);
		put_number(object, "rows", heat.rows);
		put_number(object, "seconds_per_column", heat.seconds_per_column);
		put_value(question, object, "max", greatest(cells.counts, cells.count));
		put_value(question, object, "max_of_all", greatest(cells.all, cells.count));
		json_object_set_new(object, "counts",
				    counts_json(question, cells.counts, cells.count));
	}
	return err;
}
