/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_top.h"

#include <errno.h>
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

static int compare_by_self(const void *a, const void *b)
{
	const struct top_row *one = a, *other = b;
	uint64_t first = magnitude(one->self) + magnitude(one->base_self);
	uint64_t second = magnitude(other->self) + magnitude(other->base_self);

	if (first != second)
		return first < second ? 1 : -1;
	return (one->total < other->total) - (one->total > other->total);
}

static int compare_by_total(const void *a, const void *b)
{
	const struct top_row *one = a, *other = b;
	uint64_t first = magnitude(one->total) + magnitude(one->base_total);
	uint64_t second = magnitude(other->total) + magnitude(other->base_total);

	if (first != second)
		return first < second ? 1 : -1;
	return (one->self < other->self) - (one->self > other->self);
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
		     struct top_row *rows, size_t count, uint64_t limit, bool by_self,
		     const struct name_pattern *pattern, json_t *object)
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
	qsort(rows, wanted, sizeof(*rows), by_self ? compare_by_self : compare_by_total);
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
	_cleanup_(asked_stacks_deinit) struct asked_stacks asked = { 0 };
	_cleanup_(free_pointer) struct top_row *rows = NULL;
	_cleanup_(destroy_pattern) struct name_pattern *pattern = NULL;
	const char *text = request_parameter(question->request, "name");
	const char *sort = request_parameter(question->request, "sort");
	const struct stack_names *names = &question->api->names;
	uint64_t limit;
	size_t count;
	int err = request_number(question->request, "limit", 1, TOP_ROWS_MAX, TOP_ROWS, &limit);

	if (!err && sort && strcmp(sort, "self") && strcmp(sort, "total"))
		err = fail(-EINVAL, "sort is self or total");
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
	put_rows(question, &asked, rows, count, limit, !sort || !strcmp(sort, "self"), pattern,
		 object);
	return 0;
}
