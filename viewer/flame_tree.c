/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most nodes of the complete tree are in chains: each is the only callee of the one above it, and has the same total. So the tree is
 * a list of chains, of which there are at most two for each stack, however deep the stacks are. The stacks are read from the last one
 * of their order to the first. A chain is complete when a stack does not have it any more, so each comes after its callees and the
 * list backwards is the depth-first order of the tree. The list is read to find the weights of the nodes, then to count those that
 * just miss being heavy enough, and at last to make as many nodes as are wanted.
 */
#include "viewer/flame_tree.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "reporter/sequence_counts.h"

/* --- chains --- */

/* The nodes of depth @first to @last of a stack; the root has depth 0, and a chain of its own. */
struct chain {
	uint32_t stack;
	uint32_t first;
	uint32_t last;
	/* Samples of the last node; the others have none of their own. */
	uint64_t self;
	uint64_t base_self;
	/* The total of each of its nodes. */
	uint64_t total;
	uint64_t base_total;
};

VECTOR_DEFINE(chain_vector, struct chain)

struct chains {
	/* Complete chains. */
	struct chain_vector list;
	/* The chains from the root to the end of the last stack. */
	struct chain_vector path;
};

static void chains_deinit(struct chains *chains)
{
	chain_vector_deinit(&chains->list);
	chain_vector_deinit(&chains->path);
}

static int complete_chain(struct chains *chains, const struct chain *chain)
{
	if (chains->path.count) {
		struct chain *caller = &chains->path.items[chains->path.count - 1];

		caller->total += chain->total;
		caller->base_total += chain->base_total;
	}
	return chain_vector_push(&chains->list, *chain);
}

/* Completes the nodes below @depth. */
static int leave_nodes(struct chains *chains, uint32_t depth)
{
	struct chain_vector *path = &chains->path;
	int err = 0;

	while (path->count && path->items[path->count - 1].last > depth && !err) {
		struct chain chain = path->items[path->count - 1];

		if (chain.first > depth) {
			path->count--;
		} else {
			/* Its first nodes have other callees, too. */
			path->items[path->count - 1] = (struct chain){ .stack = chain.stack,
								       .first = chain.first,
								       .last = depth };
			chain.first = depth + 1;
		}
		err = complete_chain(chains, &chain);
	}
	return err;
}

static int enter_stack(struct chains *chains, const struct flame_stack *stack, uint32_t index)
{
	struct chain *end = &chains->path.items[chains->path.count - 1];
	struct chain chain = { .stack = index,
			       .first = end->last + 1,
			       .last = (uint32_t)stack->length,
			       .self = stack->count,
			       .base_self = stack->base_count,
			       .total = stack->count,
			       .base_total = stack->base_count };

	if (stack->length > end->last)
		return chain_vector_push(&chains->path, chain);
	end->self += stack->count;
	end->base_self += stack->base_count;
	end->total += stack->count;
	end->base_total += stack->base_count;
	return 0;
}

static int find_chains(struct chains *chains, const struct flame_stack_vector *stacks,
		       const struct stack_order *order)
{
	uint32_t shared = 0;
	struct chain root;
	int err = chain_vector_push(&chains->path, (struct chain){ 0 });

	for (size_t i = order->count; i-- > 0 && !err;) {
		uint32_t stack = order->stacks[i];

		err = leave_nodes(chains, shared);
		if (!err)
			err = enter_stack(chains, &stacks->items[stack], stack);
		shared = order->shared[i];
	}
	if (!err)
		err = leave_nodes(chains, 0);
	if (err)
		return err;
	root = chains->path.items[0];
	chains->path.count = 0;
	return complete_chain(chains, &root);
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

static uint64_t weight(const struct chain *chain)
{
	return chain->total + chain->base_total;
}

static size_t node_count(const struct chain *chain)
{
	return chain->last - chain->first + 1;
}

static int note_weights(struct node_weights *weights, const struct chain_vector *chains)
{
	int err = 0;

	for (size_t i = 0; i < chains->count && !err; i++) {
		const struct chain *chain = &chains->items[i];
		size_t count = node_count(chain);

		weights->nodes += count;
		if (weight(chain) < SMALL_WEIGHTS) {
			weights->small[weight(chain)] += count;
			continue;
		}
		while (count-- > 0 && !err)
			err = weight_vector_push(&weights->large, weight(chain));
	}
	return err;
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

/* Counts the nodes of the least weight at each depth: first where chains begin and end, then their sums. */
static int note_ties(struct node_weights *weights, const struct chain_vector *chains)
{
	struct weight_vector *ties = &weights->ties;
	int err = 0;

	for (size_t i = 0; i < chains->count && !err; i++) {
		const struct chain *chain = &chains->items[i];

		if (weight(chain) != weights->least)
			continue;
		while (ties->count <= (size_t)chain->last + 1 && !err)
			err = weight_vector_push(ties, 0);
		if (err)
			return err;
		ties->items[chain->first]++;
		ties->items[chain->last + 1]--;
	}
	for (size_t depth = 1; depth < ties->count; depth++)
		ties->items[depth] += ties->items[depth - 1];
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
	const struct flame_stack_vector *stacks;
	/* Indexes in the tree of the nodes from the root to the last one that was kept. */
	struct number_vector indexes;
	bool prunes;
	uint64_t least;
	struct tie_limit ties;
};

static bool is_kept(struct tree_builder *builder, const struct chain *chain, uint32_t depth)
{
	struct tie_limit *ties = &builder->ties;

	if (!builder->prunes || !depth || weight(chain) > builder->least)
		return true;
	if (weight(chain) < builder->least || depth > ties->depth)
		return false;
	if (depth < ties->depth)
		return true;
	if (!ties->left)
		return false;
	ties->left--;
	return true;
}

static int add_node(struct tree_builder *builder, const struct chain *chain, uint32_t depth)
{
	struct number_vector *indexes = &builder->indexes;
	bool is_last = depth == chain->last;
	struct flame_node node = {
		.parent = depth ? indexes->items[depth - 1] : 0,
		.id = depth ? builder->stacks->items[chain->stack].ids[depth - 1] : FLAME_ROOT_ID,
		.self = is_last ? chain->self : 0,
		.total = chain->total,
		.base_self = is_last ? chain->base_self : 0,
		.base_total = chain->base_total,
	};
	int err = number_vector_push(indexes, (uint32_t)builder->tree->nodes.count);

	return err ? err : flame_node_vector_push(&builder->tree->nodes, node);
}

/* Adds the nodes of the chain down to the first one that is left out, with which all of its callees are. */
static int add_chain(struct tree_builder *builder, const struct chain *chain)
{
	struct number_vector *indexes = &builder->indexes;
	struct flame_tree *tree = builder->tree;
	uint64_t pruned;
	int err = 0;

	if (indexes->count > chain->first)
		indexes->count = chain->first;
	/* Else a node above the chain was left out. */
	if (indexes->count == chain->first)
		while (indexes->count <= chain->last && !err &&
		       is_kept(builder, chain, (uint32_t)indexes->count))
			err = add_node(builder, chain, (uint32_t)indexes->count);
	if (err || indexes->count > chain->last)
		return err;
	pruned = chain->last + 1 - (indexes->count > chain->first ? indexes->count : chain->first);
	tree->nodes.items[indexes->items[indexes->count - 1]].pruned += pruned;
	tree->pruned_nodes += pruned;
	tree->pruned_samples += chain->self;
	return 0;
}

static int build_tree(struct tree_builder *builder, const struct chain_vector *chains,
		      size_t max_nodes)
{
	struct node_weights weights = { 0 };
	uint64_t above = 0;
	int err = note_weights(&weights, chains);

	builder->prunes = weights.nodes > max_nodes;
	if (!err && builder->prunes) {
		find_least(&weights, max_nodes, &above);
		builder->least = weights.least;
		err = note_ties(&weights, chains);
		builder->ties = limit_ties(&weights, max_nodes - above);
	}
	weight_vector_deinit(&weights.large);
	weight_vector_deinit(&weights.ties);
	for (size_t i = chains->count; i-- > 0 && !err;)
		err = add_chain(builder, &chains->items[i]);
	number_vector_deinit(&builder->indexes);
	return err;
}

int flame_tree_init(struct flame_tree *tree, const struct flame_stack_vector *stacks,
		    const uint32_t *ranks, size_t max_nodes)
{
	_cleanup_(stack_order_deinit) struct stack_order order = { 0 };
	_cleanup_(chains_deinit) struct chains chains = { 0 };
	struct flame_tree made = { 0 };
	struct tree_builder builder = { .tree = &made, .stacks = stacks };
	int err = stack_order_init(&order, stacks, ranks);

	if (!err)
		err = find_chains(&chains, stacks, &order);
	if (!err)
		err = build_tree(&builder, &chains.list, max_nodes);
	if (err)
		flame_tree_deinit(&made);
	else
		*tree = made;
	return err;
}

void flame_tree_deinit(struct flame_tree *tree)
{
	flame_node_vector_deinit(&tree->nodes);
}
