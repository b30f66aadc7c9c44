/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks are sorted by rank. Each stack then shares its first frames with the previous one, and
 * nodes come in the wanted order. The complete tree can have many times the wanted number of nodes,
 * so it is never built. Instead it is traversed twice: first to find the weights of its nodes, then to
 * keep the nodes that are heavy enough.
 */
#include "viewer/flame_tree.h"

#include <stdbool.h>
#include <stdlib.h>

#include "reporter/sequence_counts.h"

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct flame_stack *first = a, *second = b;
	const uint32_t *ranks = context;

	for (size_t i = 0; i < first->length && i < second->length; i++) {
		uint32_t one = ranks[first->ids[i]], other = ranks[second->ids[i]];

		if (one != other)
			return one < other ? -1 : 1;
	}
	return (first->length > second->length) - (first->length < second->length);
}

/* --- visiting the nodes --- */

/* Visits the nodes of the tree in the order of the sorted stacks. */
struct traversal {
	/* The nodes from the root to the end of the last stack, with the counts so far. */
	struct flame_node_vector path;
	/* Called for a node on the way down, and on the way back when its counts are complete. */
	int (*enter)(struct traversal *traversal, const struct flame_node *node);
	int (*leave)(struct traversal *traversal, const struct flame_node *node);
	struct node_weights *weights;
	struct tree_builder *builder;
};

static int enter_node(struct traversal *traversal, uint32_t id)
{
	struct flame_node node = { .id = id };
	int err = flame_node_vector_push(&traversal->path, node);

	return err || !traversal->enter ? err : traversal->enter(traversal, &node);
}

/* Leaves nodes until @left remain. */
static int leave_nodes(struct traversal *traversal, size_t left)
{
	struct flame_node *nodes = traversal->path.items;
	int err = 0;

	while (traversal->path.count > left && !err) {
		struct flame_node *node = &nodes[--traversal->path.count];

		node->total += node->self;
		node->base_total += node->base_self;
		if (traversal->path.count) {
			node[-1].total += node->total;
			node[-1].base_total += node->base_total;
		}
		err = traversal->leave(traversal, node);
	}
	return err;
}

static int traverse_stack(struct traversal *traversal, const struct flame_stack *stack)
{
	struct flame_node *end;
	size_t common = 0;
	int err;

	while (common + 1 < traversal->path.count && common < stack->length &&
	       traversal->path.items[common + 1].id == stack->ids[common])
		common++;
	err = leave_nodes(traversal, common + 1);
	for (size_t i = common; i < stack->length && !err; i++)
		err = enter_node(traversal, stack->ids[i]);
	if (err)
		return err;
	end = &traversal->path.items[traversal->path.count - 1];
	end->self += stack->count;
	end->base_self += stack->base_count;
	return 0;
}

static int traverse_stacks(struct traversal *traversal, const struct flame_stack_vector *stacks)
{
	int err = enter_node(traversal, FLAME_ROOT_ID);

	for (size_t i = 0; i < stacks->count && !err; i++)
		err = traverse_stack(traversal, &stacks->items[i]);
	if (!err)
		err = leave_nodes(traversal, 0);
	flame_node_vector_deinit(&traversal->path);
	return err;
}

/* --- the weight that a node needs --- */

enum { SMALL_WEIGHTS = 4096 };

VECTOR_DEFINE(weight_vector, uint64_t)

struct node_weights {
	size_t nodes;
	/* The number of nodes with each small weight, and a list of the larger weights. */
	uint64_t small[SMALL_WEIGHTS];
	struct weight_vector large;
};

static uint64_t weight(const struct flame_node *node)
{
	return node->total + node->base_total;
}

static int note_weight(struct traversal *traversal, const struct flame_node *node)
{
	struct node_weights *weights = traversal->weights;

	weights->nodes++;
	if (weight(node) >= SMALL_WEIGHTS)
		return weight_vector_push(&weights->large, weight(node));
	weights->small[weight(node)]++;
	return 0;
}

static int compare_weights(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one < other) - (one > other);
}

/* The smallest weight that at most @max_nodes nodes exceed. */
static uint64_t least_weight(struct node_weights *weights, size_t max_nodes)
{
	uint64_t above = weights->large.count;

	if (above > max_nodes) {
		qsort(weights->large.items, above, sizeof(uint64_t), compare_weights);
		return weights->large.items[max_nodes];
	}
	for (uint64_t each = SMALL_WEIGHTS; each-- > 0;) {
		above += weights->small[each];
		if (above > max_nodes)
			return each;
	}
	return 0;
}

/* --- the nodes that are kept --- */

struct tree_builder {
	struct flame_tree *tree;
	/* Indexes in the tree of the nodes on the path. */
	struct number_vector indexes;
	bool prunes;
	uint64_t least;
};

static int add_node(struct traversal *traversal, const struct flame_node *node)
{
	struct tree_builder *builder = traversal->builder;
	struct number_vector *indexes = &builder->indexes;
	struct flame_node added = *node;
	int err = number_vector_push(indexes, (uint32_t)builder->tree->nodes.count);

	if (indexes->count > 1)
		added.parent = indexes->items[indexes->count - 2];
	return err ? err : flame_node_vector_push(&builder->tree->nodes, added);
}

/*
 * A node's callees are never heavier than the node, so a pruned node is the last one in the tree.
 */
static int keep_or_prune(struct traversal *traversal, const struct flame_node *node)
{
	struct tree_builder *builder = traversal->builder;
	uint32_t index = builder->indexes.items[--builder->indexes.count];
	struct flame_node *added = &builder->tree->nodes.items[index];
	uint32_t parent = added->parent;

	if (builder->prunes && index && weight(node) <= builder->least) {
		builder->tree->nodes.count = index;
		builder->tree->pruned_nodes++;
		builder->tree->pruned_samples += node->self;
		return 0;
	}
	*added = *node;
	added->parent = parent;
	return 0;
}

static int build_tree(struct flame_tree *tree, const struct flame_stack_vector *stacks,
		      size_t max_nodes)
{
	struct node_weights weights = { 0 };
	struct tree_builder builder = { .tree = tree };
	struct traversal weighing = { .leave = note_weight, .weights = &weights };
	struct traversal building = { .enter = add_node,
				      .leave = keep_or_prune,
				      .builder = &builder };
	int err = traverse_stacks(&weighing, stacks);

	builder.prunes = weights.nodes > max_nodes;
	if (!err && builder.prunes)
		builder.least = least_weight(&weights, max_nodes);
	weight_vector_deinit(&weights.large);
	if (!err)
		err = traverse_stacks(&building, stacks);
	number_vector_deinit(&builder.indexes);
	return err;
}

int flame_tree_init(struct flame_tree *tree, struct flame_stack_vector *stacks,
		    const uint32_t *ranks, size_t max_nodes)
{
	struct flame_tree made = { 0 };
	int err;

	if (stacks->count)
		qsort_r(stacks->items, stacks->count, sizeof(stacks->items[0]), compare_stacks,
			(void *)ranks);
	err = build_tree(&made, stacks, max_nodes);
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
