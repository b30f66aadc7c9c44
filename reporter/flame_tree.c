/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks are brought into the order of their ranks: then each has its first frames in common with the one before
 * it, and nodes come in the order in which they are wanted.
 */
#include "reporter/flame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "reporter/sequence_counts.h"

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct flame_stack *first = a, *second = b;
	const uint32_t *ranks = context;

	for (size_t i = 0; i < first->length && i < second->length; i++) {
		uint32_t one = ranks[first->numbers[i]], other = ranks[second->numbers[i]];

		if (one != other)
			return one < other ? -1 : 1;
	}
	return (first->length > second->length) - (first->length < second->length);
}

/* Adds @stack; @path has the nodes of the stack before it, below the root, and then this one's. */
static int add_stack(struct flame_tree *tree, const struct flame_stack *stack,
		     struct number_vector *path)
{
	struct flame_node *end;
	size_t common = 0;

	while (common < path->count && common < stack->length &&
	       tree->nodes.items[path->items[common]].number == stack->numbers[common])
		common++;
	path->count = common;
	for (size_t i = common; i < stack->length; i++) {
		const struct flame_node node = {
			.parent = i ? path->items[i - 1] : 0,
			.number = stack->numbers[i],
		};
		int err = number_vector_push(path, (uint32_t)tree->nodes.count);

		if (!err)
			err = flame_node_vector_push(&tree->nodes, node);
		if (err)
			return err;
	}
	end = &tree->nodes.items[stack->length ? path->items[stack->length - 1] : 0];
	end->self += stack->count;
	end->base_self += stack->base_count;
	return 0;
}

static int add_stacks(struct flame_tree *tree, const struct flame_stack_vector *stacks)
{
	_cleanup_(number_vector_deinit) struct number_vector path = { 0 };
	int err = flame_node_vector_push(&tree->nodes,
					 (struct flame_node){ .number = FLAME_ROOT_NUMBER });

	for (size_t i = 0; i < stacks->count && !err; i++)
		err = add_stack(tree, &stacks->items[i], &path);
	return err;
}

/* Callers stand before what they call. */
static void add_up(struct flame_tree *tree)
{
	struct flame_node *nodes = tree->nodes.items;

	for (size_t i = tree->nodes.count; i-- > 0;) {
		nodes[i].total += nodes[i].self;
		nodes[i].base_total += nodes[i].base_self;
		if (!i)
			break;
		nodes[nodes[i].parent].total += nodes[i].total;
		nodes[nodes[i].parent].base_total += nodes[i].base_total;
	}
}

static uint64_t weight(const struct flame_node *node)
{
	return node->total + node->base_total;
}

static int compare_weights(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one < other) - (one > other);
}

/* The weight that so many nodes exceed at most. */
static int find_least(const struct flame_tree *tree, size_t max_nodes, uint64_t *least)
{
	_cleanup_(free_pointer) uint64_t *weights = calloc(tree->nodes.count, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < tree->nodes.count; i++)
		weights[i] = weight(&tree->nodes.items[i]);
	qsort(weights, tree->nodes.count, sizeof(*weights), compare_weights);
	*least = weights[max_nodes];
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
		if (weight(&nodes[i]) <= least) {
			tree->pruned_nodes++;
			tree->pruned_samples += nodes[i].self;
			continue;
		}
		places[i] = (uint32_t)kept;
		nodes[kept] = nodes[i];
		nodes[kept++].parent = places[nodes[i].parent];
	}
	tree->nodes.count = kept;
	return 0;
}

int flame_tree_init(struct flame_tree *tree, struct flame_stack_vector *stacks,
		    const uint32_t *ranks, size_t max_nodes)
{
	struct flame_tree made = { 0 };
	int err;

	if (stacks->count)
		qsort_r(stacks->items, stacks->count, sizeof(stacks->items[0]), compare_stacks,
			(void *)ranks);
	err = add_stacks(&made, stacks);
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
