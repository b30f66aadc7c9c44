// SPDX-License-Identifier: Apache-2.0
#include "reporter/report_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json_text.h"
#include "reporter/cost_report.h"
#include "reporter/stack_text.h"

struct json_report {
	FILE *out;
	const struct function_counts *counts;
	/* NULL: values are samples. */
	const struct value_type *type;
	bool has_lines;
	bool failed;
};

static void put_value(struct json_report *report, const char *key, uint64_t sum)
{
	struct text_builder text = { 0 };

	if (report->type)
		value_type_append_value(&text, report->type, (int64_t)sum);
	else
		text_builder_format(&text, "%" PRIu64, sum);
	fprintf(report->out, ",\"%s\":%s", key, text_builder_text(&text));
	report->failed |= text.failed;
	text_builder_deinit(&text);
}

static void put_text(struct json_report *report, const char *key, const char *text)
{
	fprintf(report->out, "\"%s\":", key);
	json_text_write(report->out, text);
}

static void put_fact(void *context, const char *key, const char *value)
{
	struct json_report *report = context;

	fputs(report->has_lines ? ",\n[" : "\n[", report->out);
	json_text_write(report->out, key);
	putc(',', report->out);
	json_text_write(report->out, value);
	putc(']', report->out);
	report->has_lines = true;
}

/* Begins a list of objects, each on a line of its own. */
static void begin_list(struct json_report *report, const char *key)
{
	fprintf(report->out, ",\n\"%s\":[", key);
	report->has_lines = false;
}

static void begin_object(struct json_report *report)
{
	fputs(report->has_lines ? ",\n{" : "\n{", report->out);
	report->has_lines = true;
}

/* --- order: the greatest first --- */

static uint64_t magnitude(uint64_t sum)
{
	return sum >> 63 ? -sum : sum;
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct function_counts *counts = context;
	const struct counted_function *left = &counts->functions.items[*(const uint32_t *)a];
	const struct counted_function *right = &counts->functions.items[*(const uint32_t *)b];

	if (magnitude(left->self) != magnitude(right->self))
		return magnitude(left->self) < magnitude(right->self) ? 1 : -1;
	if (magnitude(left->total) != magnitude(right->total))
		return magnitude(left->total) < magnitude(right->total) ? 1 : -1;
	return strcmp(function_counts_text(counts, left->name),
		      function_counts_text(counts, right->name));
}

static int compare_processes(const void *a, const void *b, void *context)
{
	const struct function_counts *counts = context;
	const struct counted_process *left = &counts->processes.items[*(const uint32_t *)a];
	const struct counted_process *right = &counts->processes.items[*(const uint32_t *)b];

	if (magnitude(left->count) != magnitude(right->count))
		return magnitude(left->count) < magnitude(right->count) ? 1 : -1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* The indexes from 0 to @count - 1 in order; the caller frees them. NULL without memory. */
static uint32_t *sorted(const struct function_counts *counts, size_t count,
			int (*compare)(const void *a, const void *b, void *context))
{
	uint32_t *order = calloc(count + 1, sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, count, sizeof(*order), compare, (void *)counts);
	return order;
}

/* --- lists --- */

static void put_process(struct json_report *report, const struct counted_process *process)
{
	begin_object(report);
	put_text(report, "name", function_counts_text(report->counts, process->name));
	if (process->pid != SAMPLE_NO_NUMBER)
		fprintf(report->out, ",\"pid\":%u", process->pid);
	put_value(report, "value", process->count);
	putc('}', report->out);
}

static void put_function(struct json_report *report, const struct counted_function *function)
{
	const char *file = function_counts_text(report->counts, function->file);

	begin_object(report);
	put_text(report, "name", function_counts_text(report->counts, function->name));
	putc(',', report->out);
	put_text(report, "kind", text_kind_name(function->trait.kind));
	if (*file) {
		putc(',', report->out);
		put_text(report, "file", file);
	}
	put_value(report, "self", function->self);
	put_value(report, "total", function->total);
	putc('}', report->out);
}

static int put_lists(struct json_report *report)
{
	const struct function_counts *counts = report->counts;
	uint32_t *processes = sorted(counts, counts->processes.count, compare_processes);
	uint32_t *functions = sorted(counts, counts->functions.count, compare_functions);

	if (!processes || !functions) {
		free(processes);
		free(functions);
		return -ENOMEM;
	}
	begin_list(report, "processes");
	for (size_t i = 0; i < counts->processes.count; i++)
		put_process(report, &counts->processes.items[processes[i]]);
	fputs("]", report->out);
	begin_list(report, "functions");
	for (size_t i = 0; i < counts->functions.count; i++)
		if (counts->functions.items[functions[i]].trait.kind != TEXT_PROCESS)
			put_function(report, &counts->functions.items[functions[i]]);
	fputs("]", report->out);
	free(processes);
	free(functions);
	return 0;
}

int report_json_write(FILE *out, const struct function_counts *counts,
		      const struct sample_snapshot *snapshot, const struct profile_info *info,
		      const struct value_type *type, const struct cost_table *costs)
{
	struct json_report report = { .out = out, .counts = counts, .type = type };
	int err;

	fputs("{", out);
	put_text(&report, "type", type ? type->type : "samples");
	fputs(",", out);
	put_text(&report, "unit", type ? type->unit : "count");
	put_value(&report, "value", counts->total);
	begin_list(&report, "about");
	profile_info_describe_all(info, snapshot, put_fact, &report);
	fputs("]", out);
	err = put_lists(&report);
	if (!err && costs) {
		fputs(",\n\"costs\":", out);
		err = cost_report_write_json(out, costs);
	}
	fputs("}\n", out);
	return err || !report.failed ? err : -ENOMEM;
}
