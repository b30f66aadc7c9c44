/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_top.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "viewer/function_id.h"
#include "viewer/name_pattern.h"

enum {
	TOP_ROWS = 500,
	TOP_ROWS_MAX = 10000,
};

struct top_row {
	/* The id of a function, or with lines of a code location. */
	uint32_t id;
	uint64_t self;
	uint64_t total;
	uint64_t base_self;
	uint64_t base_total;
	/* The last stack that was counted, from 1: a recursive function counts once per stack. */
	size_t counted;
};

static void count_stack(const struct question *question, const struct asked_stacks *asked,
			const struct asked_stack *stack, size_t serial, struct top_row *rows)
{
	for (size_t i = 0; i < stack->list.count; i++) {
		uint32_t id = asked_id(asked, question, stack->list.locations[i]);
		struct top_row *row = &rows[id];

		row->id = id;
		if (i == stack->list.count - 1) {
			row->self += stack->count;
			row->base_self += stack->base_count;
		}
		if (row->counted == serial)
			continue;
		row->counted = serial;
		row->total += stack->count;
		row->base_total += stack->base_count;
	}
}

/* The size of a sum that may be negative: a difference of profiles has such values. */
static uint64_t magnitude(uint64_t sum)
{
	return sum >> 63 ? -sum : sum;
}

/* Orders of the rows. */
enum top_order {
	BY_SELF,
	BY_TOTAL,
	/* By the size of the difference to the base: in samples per time, or in shares of all samples. */
	BY_SELF_CHANGE,
	BY_TOTAL_CHANGE,
	BY_SELF_SHARE_CHANGE,
	BY_TOTAL_SHARE_CHANGE,
	ORDER_COUNT,
};

static const char *const order_names[ORDER_COUNT] = {
	[BY_SELF] = "self",
	[BY_TOTAL] = "total",
	[BY_SELF_CHANGE] = "self_change",
	[BY_TOTAL_CHANGE] = "total_change",
	[BY_SELF_SHARE_CHANGE] = "self_share_change",
	[BY_TOTAL_SHARE_CHANGE] = "total_share_change",
};

struct top_sorting {
	enum top_order order;
	/* Divisors of the samples of the range and of the base. */
	double whole;
	double base_whole;
};

static double change(const struct top_sorting *sorting, uint64_t sum, uint64_t base_sum)
{
	double part = sorting->whole ? (double)(int64_t)sum / sorting->whole : 0;
	double base_part = sorting->base_whole ? (double)(int64_t)base_sum / sorting->base_whole :
						 0;

	return fabs(part - base_part);
}

static double key_of(const struct top_sorting *sorting, const struct top_row *row, bool is_self)
{
	uint64_t sum = is_self ? row->self : row->total;
	uint64_t base_sum = is_self ? row->base_self : row->base_total;

	if (sorting->order >= BY_SELF_CHANGE)
		return change(sorting, sum, base_sum);
	return (double)(magnitude(sum) + magnitude(base_sum));
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct top_sorting *sorting = context;
	const struct top_row *one = a, *other = b;
	bool is_self = sorting->order == BY_SELF || sorting->order == BY_SELF_CHANGE ||
		       sorting->order == BY_SELF_SHARE_CHANGE;
	double first = key_of(sorting, one, is_self), second = key_of(sorting, other, is_self);

	if (first == second) {
		first = key_of(sorting, one, !is_self);
		second = key_of(sorting, other, !is_self);
	}
	return (first < second) - (first > second);
}

static int read_sorting(const struct question *question, struct top_sorting *sorting)
{
	const char *sort = request_parameter(question->request, "sort");

	*sorting = (struct top_sorting){ .order = BY_SELF };
	if (!sort)
		return 0;
	for (int i = 0; i < ORDER_COUNT; i++) {
		if (!strcmp(sort, order_names[i])) {
			sorting->order = (enum top_order)i;
			return 0;
		}
	}
	return fail(-EINVAL, "sort is self or total, or in a comparison self_change, total_change, "
			     "self_share_change or total_share_change");
}

/* Sets what changes are divided by, and tells the page. */
static void set_wholes(const struct question *question, const struct asked_stacks *asked,
		       struct top_sorting *sorting, json_t *object)
{
	const struct selection *selection = &question->selection;
	uint64_t ms = question_range_ms(question, selection->from_ms, selection->to_ms);
	uint64_t base_ms =
		question_range_ms(question, selection->base_from_ms, selection->base_to_ms);
	bool is_share = sorting->order >= BY_SELF_SHARE_CHANGE;

	sorting->whole = is_share ? (double)(int64_t)asked->total : (double)ms;
	sorting->base_whole = is_share ? (double)(int64_t)asked->base_total : (double)base_ms;
	put_number(object, "ms", ms);
	put_number(object, "base_ms", base_ms);
}

static json_t *row_json(const struct question *question, const struct asked_stacks *asked,
			const struct top_row *row)
{
	const struct stack_names *names = &question->api->names;
	struct stack_location location = asked_location(asked, names, row->id);
	const struct function_identity *function;
	char id[FUNCTION_ID_LENGTH + 1];
	json_t *object = json_object();

	function = &names->functions.items[location.function];
	put_text(object, "name", stack_names_text(names, function->name));
	put_text(object, "kind", text_kind_name(function->kind));
	put_text(object, "file", stack_names_text(names, function->file));
	if (asked->with_lines) {
		put_number(object, "line", location.line);
		put_number(object, "column", location.column);
	}
	put_number(object, "flags", function->flags);
	function_id_write(function_id_of(names, location), id);
	json_object_set_new(object, "id", json_string(id));
	put_value(question, object, "self", row->self);
	put_value(question, object, "total", row->total);
	if (!question->selection.has_base)
		return object;
	put_value(question, object, "base_self", row->base_self);
	put_value(question, object, "base_total", row->base_total);
	put_significance(object, "z", row->total, asked->total, row->base_total, asked->base_total);
	put_significance(object, "z_self", row->self, asked->total, row->base_self,
			 asked->base_total);
	return object;
}

static bool is_wanted(const struct question *question, const struct asked_stacks *asked,
		      const struct top_row *row, const struct name_pattern *pattern)
{
	const struct stack_names *names = &question->api->names;
	uint32_t function = asked_location(asked, names, row->id).function;

	return !pattern ||
	       name_pattern_matches(pattern,
				    stack_names_text(names, names->functions.items[function].name));
}

/* Sorts @rows, of which there are @count, and writes the first @limit that match @pattern, if any. */
static void put_rows(const struct question *question, const struct asked_stacks *asked,
		     struct top_row *rows, size_t count, uint64_t limit,
		     struct top_sorting *sorting, const struct name_pattern *pattern,
		     json_t *object)
{
	json_t *array = json_array();
	size_t present = 0, wanted = 0;

	for (size_t i = 0; i < count; i++) {
		if (!rows[i].counted)
			continue;
		present++;
		if (is_wanted(question, asked, &rows[i], pattern))
			rows[wanted++] = rows[i];
	}
	qsort_r(rows, wanted, sizeof(*rows), compare_rows, sorting);
	for (size_t i = 0; i < wanted && i < limit; i++)
		json_array_append_new(array, row_json(question, asked, &rows[i]));
	put_number(object, "functions", present);
	put_number(object, "named", wanted);
	json_object_set_new(object, "rows", array);
}

static void destroy_pattern(struct name_pattern **pattern)
{
	name_pattern_destroy(*pattern);
}

int answer_top(struct question *question, json_t *object)
{
	uint64_t limit;
	int err = request_number(question->request, "limit", 1, TOP_ROWS_MAX, TOP_ROWS, &limit);

	return err ? err : top_json(question, limit, object);
}

int top_json(struct question *question, uint64_t limit, json_t *object)
{
	_cleanup_(asked_stacks_deinit) struct asked_stacks asked = { 0 };
	_cleanup_(free_pointer) struct top_row *rows = NULL;
	_cleanup_(destroy_pattern) struct name_pattern *pattern = NULL;
	const char *text = request_parameter(question->request, "name");
	const struct stack_names *names = &question->api->names;
	struct top_sorting sorting;
	size_t count;
	int err = read_sorting(question, &sorting);

	if (!err && text)
		err = name_pattern_create(text, &pattern);
	if (!err)
		err = asked_stacks_init(&asked, question);
	if (err)
		return err;
	count = asked.with_lines ? names->locations.count : names->functions.count;
	rows = calloc(count + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < asked.stacks.count; i++)
		count_stack(question, &asked, &asked.stacks.items[i], i + 1, rows);
	put_value(question, object, "total", asked.total);
	if (question->selection.has_base)
		put_value(question, object, "base_total", asked.base_total);
	set_wholes(question, &asked, &sorting, object);
	put_rows(question, &asked, rows, count, limit, &sorting, pattern, object);
	return 0;
}
