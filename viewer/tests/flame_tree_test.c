// SPDX-License-Identifier: Apache-2.0
#include "viewer/flame_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reporter/sequence_counts.h"

enum { TEXT_COUNT = 6 };

static char *texts[TEXT_COUNT] = { "p", "b", "a", "c", "d", "e" };

/* The order differs from that of the ids. */
static const uint32_t ranks[TEXT_COUNT] = { 5, 1, 0, 2, 3, 4 };

struct laid {
	struct flame_stack_vector stacks;
	struct number_vector ids[8];
};

static void add(struct laid *laid, const char *letters, uint64_t count, uint64_t base_count)
{
	struct number_vector *ids = &laid->ids[laid->stacks.count];

	for (; *letters; letters++) {
		for (uint32_t i = 0; i < TEXT_COUNT; i++) {
			if (texts[i][0] == *letters)
				assert_int_equal(number_vector_push(ids, i), 0);
		}
	}
	assert_int_equal(flame_stack_vector_push(&laid->stacks,
						 (struct flame_stack){
							 .ids = ids->items,
							 .length = ids->count,
							 .count = count,
							 .base_count = base_count,
						 }),
			 0);
}

/* Stacks with common beginnings; one is the beginning of another, and one occurs twice. */
static void lay(struct laid *laid)
{
	*laid = (struct laid){ 0 };
	add(laid, "pbc", 2, 0);
	add(laid, "pa", 4, 0);
	add(laid, "pbd", 3, 0);
	add(laid, "pac", 2, 0);
	add(laid, "e", 1, 0);
	add(laid, "pbc", 3, 0);
	add(laid, "pb", 1, 0);
}

static void free_laid(struct laid *laid)
{
	for (size_t i = 0; i < 8; i++)
		number_vector_deinit(&laid->ids[i]);
	flame_stack_vector_deinit(&laid->stacks);
}

/* "text self/total" of each node, indented two spaces more than its caller. */
static void assert_tree(struct laid *laid, size_t max_nodes, const char *expected)
{
	struct flame_tree tree;
	char text[512] = "";
	size_t length = 0;

	assert_int_equal(flame_tree_init(&tree, &laid->stacks, ranks, max_nodes), 0);
	for (size_t i = 0; i < tree.nodes.count; i++) {
		const struct flame_node *node = &tree.nodes.items[i];
		bool is_root = node->id == FLAME_ROOT_ID;

		for (size_t at = i; at; at = tree.nodes.items[at].parent)
			length += (size_t)sprintf(text + length, "  ");
		length += (size_t)sprintf(text + length, "%s %llu/%llu\n",
					  is_root ? "all" : texts[node->id],
					  (unsigned long long)node->self,
					  (unsigned long long)node->total);
		assert_true(!i || node->parent < i);
	}
	assert_string_equal(text, expected);
	flame_tree_deinit(&tree);
}

static void callers_come_first_and_children_in_the_order_of_their_texts(void **state)
{
	struct laid laid;

	(void)state;
	lay(&laid);
	assert_tree(&laid, 100,
		    "all 0/16\n"
		    "  e 1/1\n"
		    "  p 0/15\n"
		    "    a 4/6\n"
		    "      c 2/2\n"
		    "    b 1/9\n"
		    "      c 5/5\n"
		    "      d 3/3\n");
	free_laid(&laid);
}

static void the_smallest_are_left_out_and_stay_in_their_callers(void **state)
{
	struct laid laid;

	(void)state;
	lay(&laid);
	assert_tree(&laid, 8,
		    "all 0/16\n"
		    "  e 1/1\n"
		    "  p 0/15\n"
		    "    a 4/6\n"
		    "      c 2/2\n"
		    "    b 1/9\n"
		    "      c 5/5\n"
		    "      d 3/3\n");
	assert_tree(&laid, 5,
		    "all 0/16\n"
		    "  p 0/15\n"
		    "    a 4/6\n"
		    "    b 1/9\n"
		    "      c 5/5\n");
	assert_tree(&laid, 1, "all 0/16\n");
	free_laid(&laid);
}

static void what_is_left_out_is_counted(void **state)
{
	struct flame_tree tree;
	struct laid laid;

	(void)state;
	lay(&laid);
	assert_int_equal(flame_tree_init(&tree, &laid.stacks, ranks, 5), 0);
	assert_int_equal(tree.pruned_nodes, 3);
	assert_int_equal(tree.pruned_samples, 1 + 2 + 3);
	flame_tree_deinit(&tree);
	free_laid(&laid);
}

static void what_is_compared_with_is_added_up_as_well(void **state)
{
	struct laid laid = { 0 };
	struct flame_tree tree;

	(void)state;
	add(&laid, "pa", 2, 3);
	add(&laid, "p", 0, 4);
	assert_int_equal(flame_tree_init(&tree, &laid.stacks, ranks, 10), 0);
	assert_int_equal(tree.nodes.count, 3);
	assert_int_equal(tree.nodes.items[0].base_total, 7);
	assert_int_equal(tree.nodes.items[1].base_self, 4);
	assert_int_equal(tree.nodes.items[2].base_total, 3);
	assert_int_equal(tree.nodes.items[1].total, 2);
	flame_tree_deinit(&tree);
	free_laid(&laid);
}

static void no_stack_is_a_root_alone(void **state)
{
	struct laid laid = { 0 };

	(void)state;
	assert_tree(&laid, 10, "all 0/0\n");
}

/* --- random stacks, against sums over each of them --- */

enum {
	RANDOM_STACKS = 400,
	RANDOM_DEPTH = 40,
	RANDOM_IDS = 700,
};

struct random_stacks {
	uint32_t ids[RANDOM_STACKS][RANDOM_DEPTH];
	uint32_t ranks[RANDOM_IDS];
	struct flame_stack stacks[RANDOM_STACKS];
};

/* Stacks that follow a common one for a while; at depth 3 there are more callees than fit into a byte. */
static void make_random(struct random_stacks *made)
{
	for (uint32_t i = 0; i < RANDOM_IDS; i++)
		made->ranks[i] = (i * 263 + 5) % RANDOM_IDS;
	for (size_t i = 0; i < RANDOM_STACKS; i++) {
		size_t length = (size_t)rand() % (RANDOM_DEPTH + 1);
		const uint32_t *model = made->ids[i ? (size_t)rand() % i : 0];
		size_t same = (size_t)rand() % (RANDOM_DEPTH + 1);

		for (size_t depth = 0; depth < length; depth++)
			made->ids[i][depth] =
				depth < same ? model[depth] :
					       (uint32_t)rand() % (depth == 3 ? RANDOM_IDS : 3);
		made->stacks[i] = (struct flame_stack){ .ids = made->ids[i],
							.length = length,
							.count = (uint64_t)rand() % 4,
							.base_count = (uint64_t)rand() % 3 };
	}
	made->stacks[7].count = 5000;
}

static bool begins_with(const struct flame_stack *stack, const uint32_t *path, size_t length)
{
	return stack->length >= length && !memcmp(stack->ids, path, length * sizeof(*path));
}

/* The node that @path should be. */
static struct flame_node sum_node(const struct random_stacks *made, const uint32_t *path,
				  size_t length)
{
	struct flame_node node = { 0 };

	for (size_t i = 0; i < RANDOM_STACKS; i++) {
		const struct flame_stack *stack = &made->stacks[i];
		bool is_end = stack->length == length;

		if (!begins_with(stack, path, length))
			continue;
		node.total += stack->count;
		node.base_total += stack->base_count;
		node.self += is_end ? stack->count : 0;
		node.base_self += is_end ? stack->base_count : 0;
	}
	return node;
}

/* All nodes but the root; of those of each weight, there are by_weight[]. */
static size_t count_nodes(const struct random_stacks *made, size_t *by_weight)
{
	size_t count = 0;

	for (size_t i = 0; i < RANDOM_STACKS; i++) {
		const struct flame_stack *stack = &made->stacks[i];

		for (size_t length = 1; length <= stack->length; length++) {
			struct flame_node node;
			bool is_known = false;

			for (size_t j = 0; j < i && !is_known; j++)
				is_known = begins_with(&made->stacks[j], stack->ids, length);
			if (is_known)
				continue;
			node = sum_node(made, stack->ids, length);
			by_weight[node.total + node.base_total]++;
			count++;
		}
	}
	return count;
}

/* Writes the ids from below the root to node @index, and returns how many there are. */
static size_t path_of(const struct flame_tree *tree, size_t index, uint32_t *path)
{
	size_t length = 0;

	for (size_t at = index; at; at = tree->nodes.items[at].parent)
		length++;
	for (size_t at = index, depth = length; at; at = tree->nodes.items[at].parent)
		path[--depth] = tree->nodes.items[at].id;
	return length;
}

static void assert_random_tree(const struct random_stacks *made, size_t max_nodes, size_t all_nodes,
			       const size_t *by_weight, size_t weights)
{
	const struct flame_stack_vector stacks = { .items = (struct flame_stack *)made->stacks,
						   .count = RANDOM_STACKS };
	size_t *kept = calloc(weights, sizeof(*kept)), lighter = 0;
	uint64_t self = 0, pruned = 0;
	struct flame_tree tree;

	assert_int_equal(flame_tree_init(&tree, &stacks, made->ranks, max_nodes), 0);
	assert_int_equal(tree.nodes.count, all_nodes + 1 < max_nodes ? all_nodes + 1 : max_nodes);
	for (size_t i = 0; i < tree.nodes.count; i++) {
		const struct flame_node *node = &tree.nodes.items[i];
		uint32_t path[RANDOM_DEPTH], before[RANDOM_DEPTH];
		size_t length = path_of(&tree, i, path), same = 0, length_before;
		const struct flame_node sums = sum_node(made, path, length);

		assert_int_equal(node->self, sums.self);
		assert_int_equal(node->total, sums.total);
		assert_int_equal(node->base_self, sums.base_self);
		assert_int_equal(node->base_total, sums.base_total);
		self += node->self;
		pruned += node->pruned;
		if (!i)
			continue;
		kept[node->total + node->base_total]++;
		/* In order, each once. */
		length_before = path_of(&tree, i - 1, before);
		while (same < length_before && same < length && before[same] == path[same])
			same++;
		assert_true(same < length);
		assert_true(same == length_before ||
			    made->ranks[before[same]] < made->ranks[path[same]]);
	}
	/* Where some of a weight are left out, all lighter ones are, and no heavier one. */
	for (size_t i = weights; i-- > 0;) {
		assert_true(!lighter || !kept[i]);
		lighter += by_weight[i] - kept[i];
	}
	assert_int_equal(tree.pruned_nodes, all_nodes + 1 - tree.nodes.count);
	assert_int_equal(pruned, tree.pruned_nodes);
	assert_int_equal(self + tree.pruned_samples, tree.nodes.items[0].total);
	flame_tree_deinit(&tree);
	free(kept);
}

static void the_trees_of_random_stacks_have_their_sums(void **state)
{
	static struct random_stacks made;

	(void)state;
	srand(45);
	for (int turn = 0; turn < 4; turn++) {
		size_t weights = 5000 + RANDOM_STACKS * 8, all_nodes;
		size_t *by_weight = calloc(weights, sizeof(*by_weight));

		make_random(&made);
		all_nodes = count_nodes(&made, by_weight);
		assert_random_tree(&made, SIZE_MAX, all_nodes, by_weight, weights);
		assert_random_tree(&made, all_nodes + 1, all_nodes, by_weight, weights);
		for (size_t max_nodes = 1; max_nodes < all_nodes; max_nodes = 2 * max_nodes + 1)
			assert_random_tree(&made, max_nodes, all_nodes, by_weight, weights);
		free(by_weight);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_come_first_and_children_in_the_order_of_their_texts),
		cmocka_unit_test(the_smallest_are_left_out_and_stay_in_their_callers),
		cmocka_unit_test(what_is_left_out_is_counted),
		cmocka_unit_test(what_is_compared_with_is_added_up_as_well),
		cmocka_unit_test(no_stack_is_a_root_alone),
		cmocka_unit_test(the_trees_of_random_stacks_have_their_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
