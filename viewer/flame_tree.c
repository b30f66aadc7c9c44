/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks are sorted by rank. Each stack then shares its first frames with the previous one, and
 * nodes come in the wanted order. The complete tree can have many times the wanted number of nodes,
 * so it is never built. Instead it is traversed: first to find the weights of its nodes, then to count
 * those that just miss being heavy enough, and at last to keep as many nodes as are wanted.
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
	/* The number of nodes of weight `least` at each depth, when that is known. */
	uint64_t least;
	struct weight_vector ties;
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

/* Finds the smallest weight that at most @max_nodes nodes exceed; @above is the number of these. */
static void find_least(struct node_weights *weights, size_t max_nodes, uint64_t *above)
{
	const struct weight_vector *large = &weights->large;
	uint64_t counted = large->count;

	*above = 0;
	if (counted > max_nodes) {
		qsort(large->items, counted, sizeof(uint64_t), compare_weights);
		weights->least = large->items[max_nodes];
		while (large->items[*above] > weights->least)
			(*above)++;
		return;
	}
	for (uint64_t each = SMALL_WEIGHTS; each-- > 0;) {
		*above = counted;
		counted += weights->small[each];
		weights->least = each;
		if (counted > max_nodes)
			return;
	}
}

static int note_tie(struct traversal *traversal, const struct flame_node *node)
{
	struct weight_vector *ties = &traversal->weights->ties;
	size_t depth = traversal->path.count;
	int err = 0;

	if (weight(node) != traversal->weights->least)
		return 0;
	while (ties->count <= depth && !err)
		err = weight_vector_push(ties, 0);
	if (!err)
		ties->items[depth]++;
	return err;
}

/*
 * A node's callees are never heavier than the node. So of the nodes of the least weight those above
 * some depth can be kept, and at that depth as many as there is room for.
 */
struct tie_limit {
	size_t depth;
	uint64_t left;
};

static struct tie_limit limit_ties(const struct node_weights *weights, uint64_t room)
{
	struct tie_limit limit = { .left = room };

	while (limit.depth < weights->ties.count && weights->ties.items[limit.depth] <= limit.left)
		limit.left -= weights->ties.items[limit.depth++];
	return limit;
}

/* --- the nodes that are kept --- */

struct tree_builder {
	struct flame_tree *tree;
	/* Indexes in the tree of the nodes on the path. */
	struct number_vector indexes;
	bool prunes;
	uint64_t least;
	struct tie_limit ties;
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

/* @traversal has left @node, so the nodes on its path are as many as those above the node. */
static bool is_pruned(struct traversal *traversal, const struct flame_node *node)
{
	struct tree_builder *builder = traversal->builder;
	struct tie_limit *ties = &builder->ties;
	size_t depth = traversal->path.count;

	if (!builder->prunes || !depth || weight(node) > builder->least)
		return false;
	if (weight(node) < builder->least || depth > ties->depth)
		return true;
	if (depth < ties->depth)
		return false;
	if (!ties->left)
		return true;
	ties->left--;
	return false;
}

/* With a node all of its callees are pruned, so it is the last one in the tree then. */
static int keep_or_prune(struct traversal *traversal, const struct flame_node *node)
{
	struct tree_builder *builder = traversal->builder;
	uint32_t index = builder->indexes.items[--builder->indexes.count];
	struct flame_node *added = &builder->tree->nodes.items[index];
	uint32_t parent = added->parent;
	uint64_t pruned = added->pruned;

	if (is_pruned(traversal, node)) {
		builder->tree->nodes.count = index;
		builder->tree->nodes.items[parent].pruned += pruned + 1;
		builder->tree->pruned_nodes++;
		builder->tree->pruned_samples += node->self;
		return 0;
	}
	*added = *node;
	added->parent = parent;
	added->pruned = pruned;
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
	struct traversal finding_ties = { .leave = note_tie, .weights = &weights };
	int err = traverse_stacks(&weighing, stacks);
	uint64_t above = 0;

	builder.prunes = weights.nodes > max_nodes;
	if (!err && builder.prunes) {
		find_least(&weights, max_nodes, &above);
		builder.least = weights.least;
		err = traverse_stacks(&finding_ties, stacks);
		builder.ties = limit_ties(&weights, max_nodes - above);
	}
	weight_vector_deinit(&weights.large);
	weight_vector_deinit(&weights.ties);
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
