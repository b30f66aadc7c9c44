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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_come_first_and_children_in_the_order_of_their_texts),
		cmocka_unit_test(the_smallest_are_left_out_and_stay_in_their_callers),
		cmocka_unit_test(what_is_left_out_is_counted),
		cmocka_unit_test(what_is_compared_with_is_added_up_as_well),
		cmocka_unit_test(no_stack_is_a_root_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
