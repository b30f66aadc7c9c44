/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "viewer/api_time.h"
#include "viewer/process_rows.h"

enum {
	COLUMNS = 300,
	COLUMNS_MAX = 600,
	/* Further CPUs are left out. */
	LANES_MAX = 256,
	CPUS_MAX = 8192,
};

enum {
	/* Index of the samples of other rows in a cell, behind those of the rows that were asked for. */
	LANE_OTHER = STACKED_ROWS_MAX,
	LANE_KINDS,
};

struct lanes {
	size_t column_count;
	/* By CPU, or NULL: samples by column, then by kind. */
	uint32_t *cpus[CPUS_MAX];
	size_t cpu_count;
};

static void lanes_destroy(struct lanes **lanes)
{
	for (size_t i = 0; *lanes && i < CPUS_MAX; i++)
		free((*lanes)->cpus[i]);
	free(*lanes);
}

static int count_lanes(struct lanes *lanes, struct stacked_rows *stacked, struct question *question,
		       uint64_t from_ms, uint64_t to_ms, uint64_t step_ms)
{
	struct history_sample sample;
	unsigned int misses;
	int more;

	question_seek(question, from_ms, to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		uint64_t ms = question_ms(question, sample.time_ns);
		int row, err;
		uint32_t **cells;

		if (misses || ms < from_ms || (ms - from_ms) / step_ms >= lanes->column_count ||
		    sample.cpu >= CPUS_MAX)
			continue;
		cells = &lanes->cpus[sample.cpu];
		if (!*cells && lanes->cpu_count >= LANES_MAX)
			continue;
		if (!*cells) {
			*cells = calloc(lanes->column_count * LANE_KINDS, sizeof(**cells));
			if (!*cells)
				return -ENOMEM;
			lanes->cpu_count++;
		}
		err = stacked_rows_find(stacked, &sample, &row);
		if (err)
			return err;
		(*cells)[(ms - from_ms) / step_ms * LANE_KINDS +
			 (size_t)(row < 0 ? LANE_OTHER : row)]++;
	}
	return more;
}

/* The samples of @kind in each column; of all kinds for LANE_KINDS. */
static json_t *counts_json(const struct lanes *lanes, const uint32_t *cells, int kind)
{
	json_t *array = json_array();

	for (size_t i = 0; i < lanes->column_count; i++) {
		const uint32_t *cell = &cells[i * LANE_KINDS];
		uint64_t sum = 0;

		for (int each = 0; each < LANE_KINDS; each++)
			if (each == kind || kind == LANE_KINDS)
				sum += cell[each];
		json_array_append_new(array, json_integer((json_int_t)sum));
	}
	return array;
}

static json_t *lane_json(const struct lanes *lanes, size_t cpu, int row_count)
{
	json_t *object = json_object(), *stack = json_array();

	put_number(object, "cpu", cpu);
	json_object_set_new(object, "counts", counts_json(lanes, lanes->cpus[cpu], LANE_KINDS));
	for (int row = 0; row < row_count; row++)
		json_array_append_new(stack, counts_json(lanes, lanes->cpus[cpu], row));
	json_object_set_new(object, "stack", stack);
	return object;
}

int answer_lanes(struct question *question, json_t *object)
{
	_cleanup_(lanes_destroy) struct lanes *lanes = calloc(1, sizeof(*lanes));
	_cleanup_(stacked_rows_deinit) struct stacked_rows stacked = { 0 };
	uint64_t columns, from_ms, to_ms, step_ms;
	json_t *array;
	int err = lanes ? 0 : -ENOMEM;

	if (!err)
		err = request_number(question->request, "columns", 1, COLUMNS_MAX, COLUMNS,
				     &columns);
	if (!err)
		err = stacked_rows_init(&stacked, question);
	if (err)
		return err;
	lanes->column_count = time_buckets(question, columns, &from_ms, &to_ms, &step_ms);
	err = count_lanes(lanes, &stacked, question, from_ms, to_ms, step_ms);
	if (err)
		return err;
	put_number(object, "from", from_ms);
	put_number(object, "to", to_ms);
	put_number(object, "step_ms", step_ms);
	array = json_array();
	for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (lanes->cpus[cpu])
			json_array_append_new(array, lane_json(lanes, cpu, stacked.count));
	json_object_set_new(object, "lanes", array);
	return 0;
}
