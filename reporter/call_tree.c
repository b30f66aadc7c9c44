// SPDX-License-Identifier: Apache-2.0
#include "reporter/call_tree.h"

#include <errno.h>
#include <string.h>

/* State while the tree is made. */
struct growth {
	struct call_tree *tree;
	size_t max_nodes;
	/* The node by its parent << 32 | its function. */
	struct hash_map children;
};

/* Finds or makes the node of @function below @parent. */
static int child_of(struct growth *growth, uint32_t parent, uint32_t function, uint32_t *child)
{
	struct call_node_vector *nodes = &growth->tree->nodes;
	uint64_t key = (uint64_t)parent << 32 | function, found;
	struct call_node fresh = { .function = function };
	int err;

	if (hash_map_find(&growth->children, key, &found)) {
		*child = (uint32_t)found;
		return 0;
	}
	if (nodes->count >= growth->max_nodes)
		return -E2BIG;
	fresh.next_sibling = nodes->items[parent].first_child;
	err = hash_map_set(&growth->children, key, nodes->count);
	if (!err)
		err = call_node_vector_push(nodes, fresh);
	if (err)
		return err;
	*child = (uint32_t)nodes->count - 1;
	nodes->items[parent].first_child = *child;
	return 0;
}

static int add_stack(struct growth *growth, const struct function_counts *counts,
		     const struct counted_sequence *stack)
{
	const uint32_t *functions = counts->stacks.numbers.items + stack->first;
	struct call_node_vector *nodes = &growth->tree->nodes;
	uint32_t node = CALL_TREE_ROOT;

	nodes->items[node].total += stack->count;
	for (size_t i = 0; i < stack->length; i++) {
		int err = child_of(growth, node, functions[i], &node);

		if (err)
			return err;
		nodes->items[node].total += stack->count;
	}
	nodes->items[node].self += stack->count;
	return 0;
}

struct order {
	const struct call_tree *tree;
	const struct function_counts *counts;
};

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct call_node *left = &order->tree->nodes.items[*(const uint32_t *)a];
	const struct call_node *right = &order->tree->nodes.items[*(const uint32_t *)b];
	const struct counted_function *functions = order->counts->functions.items;

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return strcmp(function_counts_text(order->counts, functions[left->function].name),
		      function_counts_text(order->counts, functions[right->function].name));
}

/* Puts the children of @node in order; @scratch is memory for their indexes. */
static int sort_children(struct order *order, struct call_node *node, struct number_vector *scratch)
{
	struct call_node *nodes = order->tree->nodes.items;
	uint32_t *last = &node->first_child;
	int err = 0;

	scratch->count = 0;
	for (uint32_t child = node->first_child; child && !err; child = nodes[child].next_sibling)
		err = number_vector_push(scratch, child);
	if (err || scratch->count < 2)
		return err;
	qsort_r(scratch->items, scratch->count, sizeof(*scratch->items), compare_nodes, order);
	for (size_t i = 0; i < scratch->count; i++) {
		*last = scratch->items[i];
		last = &nodes[scratch->items[i]].next_sibling;
	}
	*last = CALL_TREE_ROOT;
	return 0;
}

int call_tree_init(struct call_tree *tree, const struct function_counts *counts, size_t max_nodes)
{
	struct call_tree fresh = { 0 };
	struct growth growth = { .tree = &fresh, .max_nodes = max_nodes };
	struct order order = { .tree = &fresh, .counts = counts };
	struct number_vector scratch = { 0 };
	int err = call_node_vector_push(&fresh.nodes, (struct call_node){ 0 });

	for (size_t i = 0; i < counts->stacks.sequences.count && !err; i++)
		err = add_stack(&growth, counts, &counts->stacks.sequences.items[i]);
	hash_map_deinit(&growth.children);
	for (size_t i = 0; i < fresh.nodes.count && !err; i++)
		err = sort_children(&order, &fresh.nodes.items[i], &scratch);
	number_vector_deinit(&scratch);
	if (err) {
		call_tree_deinit(&fresh);
		return err;
	}
	*tree = fresh;
	return 0;
}

void call_tree_deinit(struct call_tree *tree)
{
	call_node_vector_deinit(&tree->nodes);
}
