// SPDX-License-Identifier: Apache-2.0
#include "agent/top/top_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "reporter/call_tree.h"

enum {
	CALL_TREE_MAX_NODES = 1 << 20,
	/* Calls with fewer samples are not listed: a part of all. */
	LEAST_CALL_FRACTION = 200,
	ROWS_MAX = 10000,
};

void top_model_deinit(struct top_model *model)
{
	function_counts_deinit(&model->counts);
	top_row_vector_deinit(&model->rows);
}

static int count_key(const struct history_view *view, uint32_t key, uint64_t count,
		     struct function_counts *counts)
{
	struct sample sample = *history_view_key(view, key);
	int err;

	sample.trace = history_key_trace(&view->keys, key);
	err = sample.trace ? function_counts_add(counts, &sample, count) : -ENOMEM;
	trace_unref(sample.trace);
	return err;
}

static bool is_counted(const struct top_model *model, const struct sample *sample)
{
	return model->list == TOP_PROCESSES || !model->has_process || sample->pid == model->pid;
}

/* Sums the samples by their keys, and adds each key once. */
static int count_view(const struct top_model *model, struct history_view *view,
		      struct function_counts *counts)
{
	_cleanup_(free_pointer) uint64_t *sums = calloc((size_t)view->key_count + 1, sizeof(*sums));
	struct history_sample sample;
	int err = 0;

	if (!sums)
		return -ENOMEM;
	history_view_seek(view, model->from_ns, model->to_ns);
	while (history_view_next(view, &sample))
		sums[sample.key]++;
	for (uint32_t key = 0; key < view->key_count && !err; key++) {
		if (sums[key] && is_counted(model, history_view_key(view, key)))
			err = count_key(view, key, sums[key], counts);
	}
	return err;
}

int top_model_count(struct top_model *model)
{
	struct history_view view = { 0 };
	int err = history_view_open(model->history, &view);

	if (err)
		return err;
	model->rows.count = 0;
	function_counts_deinit(&model->counts);
	function_counts_init(&model->counts, model->lookup);
	err = count_view(model, &view, &model->counts);
	history_view_close(&view);
	return err;
}

static bool is_wanted(const struct top_model *model, const struct top_row *row)
{
	return !*model->filter || strcasestr(row->name, model->filter) ||
	       strcasestr(row->file, model->filter);
}

static int add_row(struct top_model *model, struct top_row row)
{
	if (!is_wanted(model, &row) || model->rows.count >= ROWS_MAX)
		return 0;
	return top_row_vector_push(&model->rows, row);
}

static int list_processes(struct top_model *model)
{
	const struct function_counts *counts = &model->counts;
	int err = 0;

	for (size_t i = 0; i < counts->processes.count && !err; i++) {
		const struct counted_process *process = &counts->processes.items[i];

		err = add_row(model, (struct top_row){
					     .self = process->count,
					     .total = process->count,
					     .pid = process->pid,
					     .name = function_counts_text(counts, process->name),
					     .file = "",
					     .kind = TEXT_PROCESS,
				     });
	}
	return err;
}

static struct top_row function_row(const struct function_counts *counts,
				   const struct counted_function *function)
{
	return (struct top_row){
		.self = function->self,
		.total = function->total,
		.pid = SAMPLE_NO_NUMBER,
		.name = function_counts_text(counts, function->name),
		.file = function_counts_text(counts, function->file),
		.kind = function->trait.kind,
	};
}

static int list_functions(struct top_model *model)
{
	const struct function_counts *counts = &model->counts;
	int err = 0;

	for (size_t i = 0; i < counts->functions.count && !err; i++) {
		if (counts->functions.items[i].trait.kind != TEXT_PROCESS)
			err = add_row(model, function_row(counts, &counts->functions.items[i]));
	}
	return err;
}

/* A node that is still to be listed. */
struct waiting_call {
	uint32_t node;
	uint32_t level;
};

VECTOR_DEFINE(waiting_call_vector, struct waiting_call)

/* Puts the children of @node on @waiting, the first last, since that comes off first. */
static int push_children(const struct call_tree *tree, uint32_t node, uint32_t level,
			 uint64_t least, struct waiting_call_vector *waiting)
{
	const struct call_node *nodes = tree->nodes.items;
	size_t first = waiting->count;
	int err = 0;

	for (uint32_t child = nodes[node].first_child; child && nodes[child].total >= least && !err;
	     child = nodes[child].next_sibling)
		err = waiting_call_vector_push(waiting, (struct waiting_call){ child, level });
	/* Only branches are indented. */
	for (size_t i = first; waiting->count - first > 1 && node && i < waiting->count; i++)
		waiting->items[i].level = level + 1;
	for (size_t i = first, j = waiting->count; i + 1 < j; i++) {
		struct waiting_call other = waiting->items[--j];

		waiting->items[j] = waiting->items[i];
		waiting->items[i] = other;
	}
	return err;
}

static int list_tree(struct top_model *model, const struct call_tree *tree)
{
	const struct function_counts *counts = &model->counts;
	uint64_t least = counts->total / LEAST_CALL_FRACTION + 1;
	struct waiting_call_vector waiting = { 0 };
	int err = push_children(tree, CALL_TREE_ROOT, 0, least, &waiting);

	while (waiting.count && !err) {
		struct waiting_call next = waiting.items[--waiting.count];
		const struct call_node *node = &tree->nodes.items[next.node];
		struct top_row row = function_row(counts, &counts->functions.items[node->function]);

		row.self = node->self;
		row.total = node->total;
		row.level = next.level;
		err = add_row(model, row);
		if (!err)
			err = push_children(tree, next.node, next.level, least, &waiting);
	}
	waiting_call_vector_deinit(&waiting);
	return err;
}

static int list_calls(struct top_model *model)
{
	struct call_tree tree;
	int err = call_tree_init(&tree, &model->counts, CALL_TREE_MAX_NODES);

	if (err)
		return err;
	err = list_tree(model, &tree);
	call_tree_deinit(&tree);
	return err;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct top_row *left = a, *right = b;
	const struct top_model *model = context;
	uint64_t left_count = model->sort == TOP_BY_SELF ? left->self : left->total;
	uint64_t right_count = model->sort == TOP_BY_SELF ? right->self : right->total;
	int order;

	if (model->sort != TOP_BY_NAME && left_count != right_count)
		return left_count < right_count ? 1 : -1;
	order = strcmp(left->name, right->name);
	if (!order)
		order = strcmp(left->file, right->file);
	return order ? order : (left->pid > right->pid) - (left->pid < right->pid);
}

int top_model_list(struct top_model *model)
{
	int err;

	model->rows.count = 0;
	if (model->list == TOP_CALLS)
		return list_calls(model);
	err = model->list == TOP_PROCESSES ? list_processes(model) : list_functions(model);
	if (!err && model->rows.count)
		qsort_r(model->rows.items, model->rows.count, sizeof(*model->rows.items),
			compare_rows, model);
	return err;
}

double top_model_cpus(const struct top_model *model, uint64_t count)
{
	double seconds = (double)(model->to_ns - model->from_ns) / NS_PER_SECOND;

	return seconds > 0 && model->samples_per_second ?
		       (double)count / model->samples_per_second / seconds :
		       0.0;
}
