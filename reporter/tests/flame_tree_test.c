// SPDX-License-Identifier: Apache-2.0
#include "reporter/flame_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_COUNT = 6 };

static char *texts[TEXT_COUNT] = { "p", "b", "a", "c", "d", "e" };

static void add(struct stack_counts *counts, const char *letters, uint64_t count)
{
	struct number_vector numbers = { 0 };

	for (; *letters; letters++) {
		for (uint32_t i = 0; i < TEXT_COUNT; i++) {
			if (texts[i][0] == *letters)
				assert_int_equal(number_vector_push(&numbers, i), 0);
		}
	}
	assert_int_equal(sequence_counts_add(&counts->stacks, &numbers, count), 0);
	counts->total += count;
	number_vector_deinit(&numbers);
}

/* Stacks that share beginnings, one of them the beginning of another. */
static void lay(struct stack_counts *counts)
{
	*counts = (struct stack_counts){ .texts = { .items = texts, .count = TEXT_COUNT } };
	add(counts, "pbc", 5);
	add(counts, "pa", 4);
	add(counts, "pbd", 3);
	add(counts, "pac", 2);
	add(counts, "e", 1);
	add(counts, "pb", 1);
}

static void free_counts(struct stack_counts *counts)
{
	sequence_counts_deinit(&counts->stacks);
}

/* "text self/total" of each node, two spaces to the right of its caller. */
static void assert_tree(const struct stack_counts *counts, size_t max_nodes, const char *expected)
{
	struct flame_tree tree;
	char text[512] = "";
	size_t length = 0;

	assert_int_equal(flame_tree_init(&tree, counts, max_nodes), 0);
	for (size_t i = 0; i < tree.nodes.count; i++) {
		const struct flame_node *node = &tree.nodes.items[i];
		bool is_root = node->text == FLAME_ROOT_TEXT;

		for (size_t at = i; at; at = tree.nodes.items[at].parent)
			length += (size_t)sprintf(text + length, "  ");
		length += (size_t)sprintf(text + length, "%s %llu/%llu\n",
					  is_root ? "all" : texts[node->text],
					  (unsigned long long)node->self,
					  (unsigned long long)node->total);
		assert_true(!i || node->parent < i);
	}
	assert_string_equal(text, expected);
	flame_tree_deinit(&tree);
}

static void callers_come_first_and_children_in_the_order_of_their_texts(void **state)
{
	struct stack_counts counts;

	(void)state;
	lay(&counts);
	assert_tree(&counts, 100,
		    "all 0/16\n"
		    "  e 1/1\n"
		    "  p 0/15\n"
		    "    a 4/6\n"
		    "      c 2/2\n"
		    "    b 1/9\n"
		    "      c 5/5\n"
		    "      d 3/3\n");
	free_counts(&counts);
}

static void the_smallest_are_left_out_and_stay_in_their_callers(void **state)
{
	struct stack_counts counts;

	(void)state;
	lay(&counts);
	assert_tree(&counts, 8,
		    "all 0/16\n"
		    "  e 1/1\n"
		    "  p 0/15\n"
		    "    a 4/6\n"
		    "      c 2/2\n"
		    "    b 1/9\n"
		    "      c 5/5\n"
		    "      d 3/3\n");
	assert_tree(&counts, 5,
		    "all 0/16\n"
		    "  p 0/15\n"
		    "    a 4/6\n"
		    "    b 1/9\n"
		    "      c 5/5\n");
	assert_tree(&counts, 1, "all 0/16\n");
	free_counts(&counts);
}

static void no_stack_is_a_root_alone(void **state)
{
	const struct stack_counts counts = { 0 };

	(void)state;
	assert_tree(&counts, 10, "all 0/0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_come_first_and_children_in_the_order_of_their_texts),
		cmocka_unit_test(the_smallest_are_left_out_and_stay_in_their_callers),
		cmocka_unit_test(no_stack_is_a_root_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
