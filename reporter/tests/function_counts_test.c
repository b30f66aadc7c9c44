// SPDX-License-Identifier: Apache-2.0
#include "reporter/function_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/call_tree.h"
#include "reporter/tests/fixture.h"

static struct function_counts count_all(struct fixture *f)
{
	const struct sample_snapshot *snapshot = fixture_snapshot(f);
	struct function_counts counts;

	function_counts_init(&counts, &f->lookup);
	for (size_t i = 0; i < snapshot->count; i++)
		assert_int_equal(function_counts_add(&counts, &snapshot->samples[i].sample,
						     snapshot->samples[i].count),
				 0);
	return counts;
}

static const struct counted_function *find(const struct function_counts *counts, const char *name,
					   const char *file)
{
	for (size_t i = 0; i < counts->functions.count; i++) {
		const struct counted_function *function = &counts->functions.items[i];

		if (!strcmp(function_counts_text(counts, function->name), name) &&
		    !strcmp(function_counts_text(counts, function->file), file))
			return function;
	}
	fail_msg("no function %s in %s", name, file);
	return NULL;
}

static void functions_have_self_and_total_and_their_file(void **state)
{
	struct fixture *f = *state;
	struct function_counts counts;
	const struct counted_function *function;

	fixture_report_all_kinds(f);
	counts = count_all(f);
	assert_int_equal(counts.total, 17);
	function = find(&counts, "main", "prog");
	assert_int_equal(function->total, 10);
	assert_int_equal(function->self, 0);
	function = find(&counts, "tiny_[i]", "prog");
	assert_int_equal(function->self, 5 + 2);
	function = find(&counts, "do_sys:call_[k]", "vmlinux");
	assert_int_equal(function->self, 3);
	assert_int_equal(function->trait.kind, TEXT_KERNEL);
	function = find(&counts, "prog", "");
	assert_int_equal(function->trait.kind, TEXT_PROCESS);
	assert_int_equal(function->total, 10);
	function_counts_deinit(&counts);
}

static void a_recursive_function_counts_once_in_its_total(void **state)
{
	struct fixture *f = *state;
	struct function_counts counts;

	REPORT(f, "p", 1, 3, native_frame(f->prog, 0x1000, 0), native_frame(f->prog, 0x1000, 0),
	       native_frame(f->prog, 0x1000, 0));
	counts = count_all(f);
	assert_int_equal(find(&counts, "main", "prog")->total, 3);
	assert_int_equal(find(&counts, "main", "prog")->self, 3);
	function_counts_deinit(&counts);
}

static void the_sums_by_text_are_those_of_the_folded_file(void **state)
{
	struct fixture *f = *state;
	struct function_counts counts;
	struct stack_counts folded;

	fixture_report_all_kinds(f);
	counts = count_all(f);
	assert_int_equal(
		stack_counts_init(&folded, fixture_snapshot(f), &f->lookup, false, SIZE_MAX), 0);
	assert_int_equal(counts.total, folded.total);
	for (size_t text = 0; text < folded.strings.count; text++) {
		uint64_t in_folded = 0, in_counts = 0;

		for (size_t i = 0; i < folded.stacks.sequences.count; i++) {
			const struct counted_sequence *stack = &folded.stacks.sequences.items[i];

			if (stack->length &&
			    folded.stacks.numbers.items[stack->first + stack->length - 1] == text)
				in_folded += stack->count;
		}
		for (size_t i = 0; i < counts.functions.count; i++) {
			const struct counted_function *function = &counts.functions.items[i];

			if (!strcmp(function_counts_text(&counts, function->name),
				    folded.strings.items[text]))
				in_counts += function->self;
		}
		assert_int_equal(in_counts, in_folded);
	}
	stack_counts_deinit(&folded);
	function_counts_deinit(&counts);
}

static void processes_are_those_of_a_name_and_a_pid(void **state)
{
	struct fixture *f = *state;
	struct function_counts counts;
	uint64_t sum = 0;

	fixture_report_all_kinds(f);
	counts = count_all(f);
	assert_int_equal(counts.processes.count, 5);
	for (size_t i = 0; i < counts.processes.count; i++) {
		const struct counted_process *process = &counts.processes.items[i];

		sum += process->count;
		if (process->pid == 20)
			assert_int_equal(process->count, 2);
	}
	assert_int_equal(sum, 17);
	function_counts_deinit(&counts);
}

static void the_call_tree_has_callees_with_most_samples_first(void **state)
{
	struct fixture *f = *state;
	struct function_counts counts;
	const struct call_node *nodes;
	struct call_tree tree;
	uint32_t process, outermost, child;

	REPORT(f, "p", 1, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	REPORT(f, "p", 1, 4, native_frame(f->prog, 0x8a00, 0), native_frame(f->prog, 0x1000, 0));
	REPORT(f, "p", 1, 2, native_frame(f->prog, 0x1000, 0));
	counts = count_all(f);
	assert_int_equal(call_tree_init(&tree, &counts, 100), 0);
	nodes = tree.nodes.items;
	assert_int_equal(nodes[CALL_TREE_ROOT].total, 7);
	process = nodes[CALL_TREE_ROOT].first_child;
	assert_int_equal(nodes[process].next_sibling, 0);
	outermost = nodes[process].first_child;
	assert_int_equal(nodes[outermost].total, 7);
	assert_int_equal(nodes[outermost].self, 2);
	child = nodes[outermost].first_child;
	assert_int_equal(nodes[child].total, 4);
	child = nodes[child].next_sibling;
	assert_int_equal(nodes[child].total, 1);
	assert_int_equal(nodes[child].next_sibling, 0);
	call_tree_deinit(&tree);
	/* The root, the process and three functions. */
	assert_int_equal(call_tree_init(&tree, &counts, 4), -E2BIG);
	assert_int_equal(call_tree_init(&tree, &counts, 5), 0);
	call_tree_deinit(&tree);
	function_counts_deinit(&counts);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(functions_have_self_and_total_and_their_file),
		TEST(a_recursive_function_counts_once_in_its_total),
		TEST(the_sums_by_text_are_those_of_the_folded_file),
		TEST(processes_are_those_of_a_name_and_a_pid),
		TEST(the_call_tree_has_callees_with_most_samples_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
