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

/* Stacks in a history, and the view by which they are read. */
struct stacks {
	struct history *history;
	struct history_view view;
	uint64_t now_ns;
};

static void stacks_init(struct stacks *stacks)
{
	/* Samples expire at once when a later one comes. */
	const struct history_options options = { .retention_ns = 60 };

	*stacks = (struct stacks){ .history = history_create(&options), .now_ns = 1000 };
	assert_non_null(stacks->history);
	assert_int_equal(history_view_open(stacks->history, &stacks->view), 0);
}

static void stacks_deinit(struct stacks *stacks)
{
	history_view_close(&stacks->view);
	history_destroy(stacks->history);
}

/* Replaces the view. */
static void stacks_look(struct stacks *stacks, struct stack_names *names)
{
	history_view_close(&stacks->view);
	assert_int_equal(history_view_open(stacks->history, &stacks->view), 0);
	stack_names_tidy(names, &stacks->view);
}

/* Adds a sample with @trace and looks at it; returns its key. */
static uint32_t add_trace(struct stacks *stacks, struct stack_names *names, struct trace *trace,
			  uint32_t tid)
{
	struct history_sample sample = { .key = UINT32_MAX };

	report_trace(stacks->history, trace,
		     &(struct told){ .pid = 1, .tid = tid, .time_ns = stacks->now_ns });
	stacks_look(stacks, names);
	while (history_view_next(&stacks->view, &sample))
		;
	assert_int_not_equal(sample.key, UINT32_MAX);
	return sample.key;
}

static uint32_t add_stack(struct stacks *stacks, struct stack_names *names, const char *stack,
			  uint32_t tid)
{
	struct trace *trace = make_trace(stack);
	uint32_t key = add_trace(stacks, names, trace, tid);

	trace_unref(trace);
	return key;
}

/* Drops all samples that were added before, except for those of the latest chunk. */
static void expire(struct stacks *stacks, struct stack_names *names)
{
	for (int i = 0; i < 2; i++) {
		stacks->now_ns += 1000;
		add_stack(stacks, names, "later", 0);
	}
}

static struct location_list list_of(const struct stacks *stacks, struct stack_names *names,
				    uint32_t key)
{
	struct location_list list;

	assert_int_equal(stack_names_list(names, &stacks->view, key, &list), 0);
	return list;
}

static void stacks_are_lists_of_functions_root_first(void **state)
{
	struct stack_names names;
	struct location_list list;
	struct stacks stacks;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	list = list_of(&stacks, &names, add_stack(&stacks, &names, "main:3;work:5;!3", 1));
	assert_int_equal(list.count, 3);
	assert_string_equal(name_at(&names, &list, 0), "main");
	assert_string_equal(name_at(&names, &list, 1), "work");
	assert_string_equal(name_at(&names, &list, 2), "[error: no unwind information]");
	assert_int_equal(names.locations.items[list.locations[0]].line, 3);
	assert_int_equal(stack_names_function(&names, list.locations[1])->kind, TEXT_PYTHON);
	assert_int_equal(stack_names_function(&names, list.locations[2])->kind, TEXT_ERROR);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

static void lines_of_a_function_are_locations_of_one_function(void **state)
{
	struct location_list first, second;
	struct stack_names names;
	struct stacks stacks;
	uint32_t first_location;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	first = list_of(&stacks, &names, add_stack(&stacks, &names, "main:3", 1));
	first_location = first.locations[0];
	second = list_of(&stacks, &names, add_stack(&stacks, &names, "main:4", 1));
	assert_int_not_equal(first_location, second.locations[0]);
	assert_int_equal(names.locations.items[first_location].function,
			 names.locations.items[second.locations[0]].function);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

static void better_names_are_asked_for_and_others_kept(void **state)
{
	struct changing_lookup changing = { .lookup.ops = &lookup_ops, .name = "before" };
	struct binary *binary = binary_create(&(struct binary){ .fd = -1, .path = "/opt/prog" });
	struct frame frame = { .kind = FRAME_NATIVE, .address = 0x1000, .binary = binary };
	struct trace *trace = trace_create(&frame, 1, true, false);
	struct stack_names names;
	struct location_list list;
	struct stacks stacks;
	uint32_t key;

	(void)state;
	stack_names_init(&names, &changing.lookup, MAX_BYTES);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	key = add_trace(&stacks, &names, trace, 1);
	list = list_of(&stacks, &names, key);
	assert_string_equal(name_at(&names, &list, 0), "before");
	changing.name = "after";
	stack_names_begin(&names, 1);
	list = list_of(&stacks, &names, key);
	assert_string_equal(name_at(&names, &list, 0), "before");
	assert_int_equal(changing.calls, 1);
	stack_names_begin(&names, 2);
	list = list_of(&stacks, &names, key);
	assert_string_equal(name_at(&names, &list, 0), "after");
	assert_int_equal(changing.calls, 2);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
	trace_unref(trace);
	binary_unref(binary);
}

static void what_is_kept_is_bounded(void **state)
{
	enum { STACKS = 5000, LIMIT_BYTES = 128 << 10 };
	struct stack_names names;
	struct location_list list;
	struct stacks stacks;
	size_t most = 0;

	(void)state;
	stack_names_init(&names, NULL, LIMIT_BYTES);
	stacks_init(&stacks);
	for (int i = 0; i < STACKS; i++) {
		char stack[64];
		uint32_t key;

		snprintf(stack, sizeof(stack), "main;function_%d", i);
		key = add_stack(&stacks, &names, stack, 1);
		stack_names_begin(&names, 1);
		list = list_of(&stacks, &names, key);
		assert_string_equal(name_at(&names, &list, 1), stack + strlen("main;"));
		most = stack_names_bytes(&names) > most ? stack_names_bytes(&names) : most;
	}
	assert_true(most > LIMIT_BYTES / 2);
	assert_true(most < LIMIT_BYTES / 4 * 5);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

static void what_one_question_takes_is_bounded(void **state)
{
	enum { STACKS = 64, FRAMES = 60, LIST_BYTES = FRAMES * sizeof(uint32_t) };
	struct stack_names names;
	struct stacks stacks;
	int refused = 0;

	(void)state;
	stack_names_init(&names, NULL, 8 << 10);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	for (int i = 0; i < STACKS; i++) {
		struct text_builder stack = { 0 };
		struct location_list list;
		uint32_t key;
		int err;

		/* The same few names in other orders. */
		for (int j = 0; j < FRAMES; j++)
			text_builder_format(&stack, "%s%s", j ? ";" : "",
					    j == i % FRAMES ? "f" : "g");
		key = add_stack(&stacks, &names, text_builder_text(&stack), 1);
		err = stack_names_list(&names, &stacks.view, key, &list);
		assert_true(!err || err == -EINVAL);
		refused += !!err;
		text_builder_deinit(&stack);
	}
	assert_in_range(refused, 1, STACKS - 20);
	assert_true(names.bytes <= STACK_NAMES_QUESTION_MAX * names.max_bytes + 2 * LIST_BYTES);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

static void lists_of_stacks_that_have_expired_are_dropped(void **state)
{
	struct stack_names names;
	struct stacks stacks;
	uint32_t first, second;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	first = add_stack(&stacks, &names, "main;one", 1);
	/* An equal stack of another thread has the same list. */
	second = add_stack(&stacks, &names, "main;one", 2);
	assert_int_not_equal(first, second);
	assert_ptr_equal(list_of(&stacks, &names, first).locations,
			 list_of(&stacks, &names, second).locations);
	list_of(&stacks, &names, add_stack(&stacks, &names, "main;other", 1));
	assert_int_equal(names.lists.count, 2);
	expire(&stacks, &names);
	assert_int_equal(names.lists.count, 0);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

/* Ids of keys and of the parts of stacks are used again. */
static void a_key_has_the_list_of_the_stack_that_it_has_now(void **state)
{
	enum { TURNS = 200, STACKS = 8 };
	struct stack_names names;
	struct stacks stacks;
	uint32_t most = 0;

	(void)state;
	srand(4);
	stack_names_init(&names, NULL, MAX_BYTES);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	for (int i = 0; i < TURNS; i++) {
		for (int j = 0; j < STACKS; j++) {
			struct location_list list;
			char stack[160], leaf[16];
			uint32_t key;

			snprintf(leaf, sizeof(leaf), "f%d", rand() % 50);
			/* Deep enough to have parts above that of the key. */
			snprintf(stack, sizeof(stack), "m%d;a;b;c;d;e;f;g;h;%s", rand() % 50, leaf);
			key = add_stack(&stacks, &names, stack, (uint32_t)(j + 1));
			list = list_of(&stacks, &names, key);
			assert_int_equal(list.count, 10);
			assert_string_equal(name_at(&names, &list, 9), leaf);
			assert_memory_equal(name_at(&names, &list, 0), stack, strcspn(stack, ";"));
			most = key > most ? key : most;
		}
		stacks.now_ns += 1000;
	}
	assert_true(most < TURNS);
	assert_true(names.lists.count <= 3 * STACKS);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

static void ranks_are_in_the_order_of_names(void **state)
{
	struct stack_names names;
	struct location_list list;
	struct stacks stacks;
	uint32_t *ranks, location;

	(void)state;
	stack_names_init(&names, NULL, MAX_BYTES);
	stacks_init(&stacks);
	stack_names_begin(&names, 1);
	list = list_of(&stacks, &names, add_stack(&stacks, &names, "b:2;a:1;b:1;c:1", 1));
	assert_int_equal(stack_names_level(&names, TEXT_PROCESS, "aa", &location), 0);
	ranks = stack_names_rank(&names, true);
	assert_non_null(ranks);
	/* a, b by line, c. */
	assert_true(ranks[list.locations[1]] < ranks[list.locations[2]]);
	assert_true(ranks[list.locations[2]] < ranks[list.locations[0]]);
	assert_true(ranks[list.locations[0]] < ranks[list.locations[3]]);
	free(ranks);
	stack_names_deinit(&names);
	stacks_deinit(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_lists_of_functions_root_first),
		cmocka_unit_test(lines_of_a_function_are_locations_of_one_function),
		cmocka_unit_test(better_names_are_asked_for_and_others_kept),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(what_one_question_takes_is_bounded),
		cmocka_unit_test(lists_of_stacks_that_have_expired_are_dropped),
		cmocka_unit_test(a_key_has_the_list_of_the_stack_that_it_has_now),
		cmocka_unit_test(ranks_are_in_the_order_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
