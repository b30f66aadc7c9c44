/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks are brought into the order of their texts: then each has its first frames in common with the one before
 * it, and nodes come in the order in which they are wanted.
 */
#include "reporter/flame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

/* What the order is made by. */
struct order {
	const struct stack_counts *counts;
	/* By number of a text: its place among all in their order. */
	uint32_t *ranks;
	const struct counted_sequence **stacks;
};

static void order_deinit(struct order *order)
{
	free(order->ranks);
	free(order->stacks);
}

static int compare_texts(const void *a, const void *b, void *context)
{
	const struct stack_counts *counts = context;

	return strcmp(counts->texts.items[*(const uint32_t *)a],
		      counts->texts.items[*(const uint32_t *)b]);
}

static int rank_texts(struct order *order)
{
	size_t count = order->counts->texts.count;
	_cleanup_(free_pointer) uint32_t *sorted = calloc(count + 1, sizeof(*sorted));

	order->ranks = calloc(count + 1, sizeof(*order->ranks));
	if (!sorted || !order->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), compare_texts, (void *)order->counts);
	for (uint32_t i = 0; i < count; i++)
		order->ranks[sorted[i]] = i;
	return 0;
}

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct counted_sequence *first = *(const struct counted_sequence *const *)a;
	const struct counted_sequence *second = *(const struct counted_sequence *const *)b;
	const struct order *order = context;
	const uint32_t *numbers = order->counts->stacks.numbers.items;

	for (size_t i = 0; i < first->length && i < second->length; i++) {
		uint32_t one = order->ranks[numbers[first->first + i]];
		uint32_t other = order->ranks[numbers[second->first + i]];

		if (one != other)
			return one < other ? -1 : 1;
	}
	return (first->length > second->length) - (first->length < second->length);
}

static int sort_stacks(struct order *order)
{
	const struct sequence_vector *stacks = &order->counts->stacks.sequences;

	order->stacks = calloc(stacks->count + 1, sizeof(struct counted_sequence *));
	if (!order->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->count; i++)
		order->stacks[i] = &stacks->items[i];
	qsort_r(order->stacks, stacks->count, sizeof(order->stacks[0]), compare_stacks, order);
	return 0;
}

/* Adds @stack; @path has the nodes of the stack before it, below the root, and then this one's. */
static int add_stack(struct flame_tree *tree, const struct order *order,
		     const struct counted_sequence *stack, struct number_vector *path)
{
	const uint32_t *texts = order->counts->stacks.numbers.items + stack->first;
	size_t common = 0;

	while (common < path->count && common < stack->length &&
	       tree->nodes.items[path->items[common]].text == texts[common])
		common++;
	path->count = common;
	for (size_t i = common; i < stack->length; i++) {
		const struct flame_node node = {
			.parent = i ? path->items[i - 1] : 0,
			.text = texts[i],
		};
		int err = number_vector_push(path, (uint32_t)tree->nodes.count);

		if (!err)
			err = flame_node_vector_push(&tree->nodes, node);
		if (err)
			return err;
	}
	tree->nodes.items[stack->length ? path->items[stack->length - 1] : 0].self += stack->count;
	return 0;
}

static int add_stacks(struct flame_tree *tree, const struct order *order)
{
	_cleanup_(number_vector_deinit) struct number_vector path = { 0 };
	int err = flame_node_vector_push(&tree->nodes,
					 (struct flame_node){ .text = FLAME_ROOT_TEXT });

	for (size_t i = 0; i < order->counts->stacks.sequences.count && !err; i++)
		err = add_stack(tree, order, order->stacks[i], &path);
	return err;
}

/* Callers stand before what they call. */
static void add_up(struct flame_tree *tree)
{
	struct flame_node *nodes = tree->nodes.items;

	for (size_t i = tree->nodes.count; i-- > 0;) {
		nodes[i].total += nodes[i].self;
		if (i)
			nodes[nodes[i].parent].total += nodes[i].total;
	}
}

static int compare_totals(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one < other) - (one > other);
}

/* The total that so many nodes exceed at most. */
static int find_least(const struct flame_tree *tree, size_t max_nodes, uint64_t *least)
{
	_cleanup_(free_pointer) uint64_t *totals = calloc(tree->nodes.count, sizeof(*totals));

	if (!totals)
		return -ENOMEM;
	for (size_t i = 0; i < tree->nodes.count; i++)
		totals[i] = tree->nodes.items[i].total;
	qsort(totals, tree->nodes.count, sizeof(*totals), compare_totals);
	*least = totals[max_nodes];
	return 0;
}

/* A caller has at least as many samples as what it calls, so that each one that stays has its own. */
static int prune(struct flame_tree *tree, size_t max_nodes)
{
	_cleanup_(free_pointer) uint32_t *places = NULL;
	struct flame_node *nodes = tree->nodes.items;
	uint64_t least;
	size_t kept = 1;
	int err;

	if (tree->nodes.count <= max_nodes)
		return 0;
	err = find_least(tree, max_nodes, &least);
	places = err ? NULL : calloc(tree->nodes.count, sizeof(*places));
	if (!places)
		return err ? err : -ENOMEM;
	for (size_t i = 1; i < tree->nodes.count; i++) {
		if (nodes[i].total <= least)
			continue;
		places[i] = (uint32_t)kept;
		nodes[kept] = nodes[i];
		nodes[kept++].parent = places[nodes[i].parent];
	}
	tree->nodes.count = kept;
	return 0;
}

int flame_tree_init(struct flame_tree *tree, const struct stack_counts *counts, size_t max_nodes)
{
	_cleanup_(order_deinit) struct order order = { .counts = counts };
	struct flame_tree made = { 0 };
	int err = rank_texts(&order);

	if (!err)
		err = sort_stacks(&order);
	if (!err)
		err = add_stacks(&made, &order);
	if (!err) {
		add_up(&made);
		err = prune(&made, max_nodes);
	}
	if (err) {
		flame_tree_deinit(&made);
		return err;
	}
	*tree = made;
	return 0;
}

void flame_tree_deinit(struct flame_tree *tree)
{
	flame_node_vector_deinit(&tree->nodes);
}
