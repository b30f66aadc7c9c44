/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of code, in the order of the analysis. */
#include "stackdeltas/code_rows.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

/* The receiver of the analysis's rows. */
struct collector {
	struct code_rows *rows;
	struct delta_builder *builder;
	const struct code_analysis_input *input;
	/* The range of the last row. */
	size_t range;
};

static int push_row(struct collector *collector, uint64_t address, uint32_t id)
{
	struct code_row_vector *rows = &collector->rows->rows;
	struct code_row row = { address - collector->builder->text_start, id };

	if (rows->count == DELTA_BUILDER_MAX_ROWS)
		return fail(-E2BIG, "more than %d rows of code", DELTA_BUILDER_MAX_ROWS);
	/* The end of a range and the start of the next one can be the same. */
	if (rows->count && rows->items[rows->count - 1].distance == row.distance) {
		rows->items[rows->count - 1] = row;
		return 0;
	}
	return code_row_vector_push(rows, row);
}

/* Ends the range of the last row if @address is beyond it. */
static int end_ranges(struct collector *collector, uint64_t address)
{
	const struct code_analysis_input *input = collector->input;

	while (collector->range < input->range_count) {
		const struct code_bytes *range = &input->ranges[collector->range];
		int error;

		if (address - range->address < range->size)
			break;
		error = push_row(collector, range->address + range->size, DELTA_RULE_NONE);
		if (error)
			return error;
		collector->range++;
	}
	return 0;
}

static int take_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct collector *collector = context;
	uint32_t id;
	int error;

	if (address >= collector->builder->text_end)
		return 0;
	error = end_ranges(collector, address);
	if (!error)
		error = delta_builder_intern(collector->builder, rule, &id);
	return error ? error : push_row(collector, address, id);
}

int code_rows_init(struct code_rows *rows, const struct code_analysis_input *input,
		   struct delta_builder *builder, struct code_analysis_statistics *statistics)
{
	struct collector collector = { .rows = rows, .builder = builder, .input = input };
	const struct code_row_handler handler = { .context = &collector, .row = take_row };
	int error;

	memset(rows, 0, sizeof(*rows));
	if (!input->range_count)
		return 0;
	error = code_analysis_run(input, &handler, statistics);
	return error ? error : end_ranges(&collector, UINT64_MAX);
}

void code_rows_deinit(struct code_rows *rows)
{
	code_row_vector_deinit(&rows->rows);
}

int code_rows_add(struct code_rows *rows, uint64_t start, uint64_t end,
		  struct delta_builder *builder)
{
	const struct code_row *items = rows->rows.items;
	uint64_t base = builder->text_start;
	size_t next = rows->next;
	int error;

	if (start >= end)
		return 0;
	while (next < rows->rows.count && items[next].distance <= start - base)
		next++;
	error = delta_builder_add(builder, start, next ? items[next - 1].id : DELTA_RULE_NONE);
	for (; !error && next < rows->rows.count && items[next].distance < end - base; next++)
		error = delta_builder_add(builder, base + items[next].distance, items[next].id);
	rows->next = next;
	return error;
}
