/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/stack_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "viewer/tests/samples.h"

enum { MAX_BYTES = 1 << 20 };

/* Names of native frames that change when the generation does. */
struct changing_lookup {
	struct symbol_lookup lookup;
	const char *name;
	uint32_t calls;
};

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	struct changing_lookup *changing = (struct changing_lookup *)lookup;

	(void)binary;
	(void)address;
	(void)capacity;
	changing->calls++;
	symbols[0] = (struct symbol){ .function = changing->name };
	return 1;
}

static const struct symbol_lookup_ops lookup_ops = { .resolve = resolve };

static const char *name_at(const struct stack_names *names, const struct location_list *list,
			   size_t index)
{
	return stack_names_text(names, stack_names_function(names, list->locations[index])->name);
}

static void stacks_are_lists_of_functions_root_first(void **state)
{
	struct trace *trace = make_trace("main:3;work:5;!3");
	struct stack_names names;
	struct location_list list;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stack_names_begin(&names, 1);
	assert_int_equal(stack_names_list(&names, trace, &list), 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(name_at(&names, &list, 0), "main");
	assert_string_equal(name_at(&names, &list, 1), "work");
	assert_string_equal(name_at(&names, &list, 2), "[error: no unwind information]");
	assert_int_equal(names.locations.items[list.locations[0]].line, 3);
	assert_int_equal(stack_names_function(&names, list.locations[1])->kind, TEXT_PYTHON);
	assert_int_equal(stack_names_function(&names, list.locations[2])->kind, TEXT_ERROR);
	stack_names_deinit(&names);
	trace_unref(trace);
}

static void lines_of_a_function_are_locations_of_one_function(void **state)
{
	struct trace *one = make_trace("main:3"), *other = make_trace("main:4");
	struct location_list first, second;
	struct stack_names names;
	uint32_t first_location;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stack_names_begin(&names, 1);
	assert_int_equal(stack_names_list(&names, one, &first), 0);
	first_location = first.locations[0];
	assert_int_equal(stack_names_list(&names, other, &second), 0);
	assert_int_not_equal(first_location, second.locations[0]);
	assert_int_equal(names.locations.items[first_location].function,
			 names.locations.items[second.locations[0]].function);
	stack_names_deinit(&names);
	trace_unref(one);
	trace_unref(other);
}

static void better_names_are_asked_for_and_others_kept(void **state)
{
	struct changing_lookup changing = { .lookup.ops = &lookup_ops, .name = "before" };
	struct binary *binary = binary_create(&(struct binary){ .fd = -1, .path = "/opt/prog" });
	struct frame frame = { .kind = FRAME_NATIVE, .address = 0x1000, .binary = binary };
	struct trace *trace = trace_create(&frame, 1, true, false);
	struct stack_names names;
	struct location_list list;

	(void)state;
	stack_names_init(&names, &changing.lookup, MAX_BYTES);
	stack_names_begin(&names, 1);
	assert_int_equal(stack_names_list(&names, trace, &list), 0);
	assert_string_equal(name_at(&names, &list, 0), "before");
	changing.name = "after";
	stack_names_begin(&names, 1);
	assert_int_equal(stack_names_list(&names, trace, &list), 0);
	assert_string_equal(name_at(&names, &list, 0), "before");
	assert_int_equal(changing.calls, 1);
	stack_names_begin(&names, 2);
	assert_int_equal(stack_names_list(&names, trace, &list), 0);
	assert_string_equal(name_at(&names, &list, 0), "after");
	assert_int_equal(changing.calls, 2);
	stack_names_deinit(&names);
	trace_unref(trace);
	binary_unref(binary);
}

static void what_is_kept_is_bounded(void **state)
{
	enum { TRACES = 5000 };
	static struct trace *traces[TRACES];
	struct stack_names names;
	struct location_list list;
	size_t most = 0;

	(void)state;
	stack_names_init(&names, NULL, 64 << 10);
	for (int i = 0; i < TRACES; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main;function_%d", i);
		traces[i] = make_trace(stack);
		stack_names_begin(&names, 1);
		assert_int_equal(stack_names_list(&names, traces[i], &list), 0);
		assert_string_equal(name_at(&names, &list, 1), stack + strlen("main;"));
		most = names.bytes > most ? names.bytes : most;
	}
	assert_true(most > 32 << 10);
	assert_true(most < 80 << 10);
	stack_names_deinit(&names);
	for (int i = 0; i < TRACES; i++)
		trace_unref(traces[i]);
}

static void what_one_question_takes_is_bounded(void **state)
{
	enum { TRACES = 64, FRAMES = 60, LIST_BYTES = FRAMES * sizeof(uint32_t) };
	static struct trace *traces[TRACES];
	struct text_builder stack = { 0 };
	struct stack_names names;
	struct location_list list;
	int refused = 0;

	(void)state;
	for (int i = 0; i < FRAMES; i++)
		text_builder_format(&stack, "%smain", i ? ";" : "");
	stack_names_init(&names, NULL, 4 * LIST_BYTES);
	stack_names_begin(&names, 1);
	for (int i = 0; i < TRACES; i++) {
		int err;

		traces[i] = make_trace(text_builder_text(&stack));
		err = stack_names_list(&names, traces[i], &list);
		assert_true(!err || err == -EINVAL);
		refused += !!err;
	}
	assert_true(refused > TRACES - 4 * STACK_NAMES_QUESTION_MAX);
	assert_true(refused < TRACES - STACK_NAMES_QUESTION_MAX);
	assert_true(names.bytes <= STACK_NAMES_QUESTION_MAX * names.max_bytes + 4 * LIST_BYTES);
	stack_names_deinit(&names);
	text_builder_deinit(&stack);
	for (int i = 0; i < TRACES; i++)
		trace_unref(traces[i]);
}

static void traces_that_have_gone_are_let_go(void **state)
{
	struct trace *one = make_trace("main;one"), *other = make_trace("main;other");
	struct stack_names names;
	struct location_list list;
	size_t bytes;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stack_names_begin(&names, 1);
	assert_int_equal(stack_names_list(&names, one, &list), 0);
	bytes = names.bytes;
	assert_int_equal(stack_names_list(&names, other, &list), 0);
	assert_true(names.bytes > bytes);
	stack_names_tidy(&names);
	assert_int_equal(names.lists.count, 2);
	trace_unref(one);
	stack_names_tidy(&names);
	assert_int_equal(names.lists.count, 1);
	assert_int_equal(other->references, 2);
	stack_names_deinit(&names);
	assert_int_equal(other->references, 1);
	trace_unref(other);
}

static void assert_leaf_of_key(struct stack_names *names, uint32_t key, struct trace *trace,
			       const char *leaf)
{
	struct location_list list;

	assert_int_equal(stack_names_list_of_key(names, key, trace, &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(stack_names_text(names,
					     stack_names_function(names, list.locations[1])->name),
			    leaf);
}

static void a_key_has_the_list_of_the_trace_that_it_has_now(void **state)
{
	enum { TURNS = 50 };
	struct trace *one = make_trace("main;one"), *other = make_trace("main;other");
	struct stack_names names;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stack_names_begin(&names, 1);
	assert_leaf_of_key(&names, 7, one, "one");
	assert_leaf_of_key(&names, 3, other, "other");
	assert_leaf_of_key(&names, 7, one, "one");
	assert_leaf_of_key(&names, 7, other, "other");
	assert_leaf_of_key(&names, 3, one, "one");
	trace_unref(one);
	/* Traces come and go, at addresses that are used again. */
	for (int i = 0; i < TURNS; i++) {
		char stack[32], leaf[16];

		snprintf(leaf, sizeof(leaf), "f%d", i);
		snprintf(stack, sizeof(stack), "main;%s", leaf);
		stack_names_tidy(&names);
		one = make_trace(stack);
		assert_leaf_of_key(&names, 3, one, leaf);
		assert_leaf_of_key(&names, 7, other, "other");
		trace_unref(one);
	}
	stack_names_empty(&names);
	assert_int_equal(other->references, 1);
	assert_leaf_of_key(&names, 7, other, "other");
	stack_names_deinit(&names);
	trace_unref(other);
}

static void ranks_are_in_the_order_of_names(void **state)
{
	struct trace *trace = make_trace("b:2;a:1;b:1;c:1");
	struct stack_names names;
	struct location_list list;
	uint32_t *ranks, location;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stack_names_begin(&names, 1);
	assert_int_equal(stack_names_list(&names, trace, &list), 0);
	assert_int_equal(stack_names_level(&names, TEXT_PROCESS, "aa", &location), 0);
	ranks = stack_names_rank(&names, true);
	assert_non_null(ranks);
	/* a, b by line, c. */
	assert_true(ranks[list.locations[1]] < ranks[list.locations[2]]);
	assert_true(ranks[list.locations[2]] < ranks[list.locations[0]]);
	assert_true(ranks[list.locations[0]] < ranks[list.locations[3]]);
	free(ranks);
	stack_names_deinit(&names);
	trace_unref(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_lists_of_functions_root_first),
		cmocka_unit_test(lines_of_a_function_are_locations_of_one_function),
		cmocka_unit_test(better_names_are_asked_for_and_others_kept),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(what_one_question_takes_is_bounded),
		cmocka_unit_test(traces_that_have_gone_are_let_go),
		cmocka_unit_test(a_key_has_the_list_of_the_trace_that_it_has_now),
		cmocka_unit_test(ranks_are_in_the_order_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
