/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

/* Each stack on a line, without its count. */
static void write_stacks(FILE *out, const struct stack_counts *counts)
{
	for (size_t i = 0; i < counts->stacks.sequences.count; i++) {
		stack_counts_write_stack(counts, &counts->stacks.sequences.items[i], out);
		putc('\n', out);
	}
}

static void an_address_is_looked_up_once(void **state)
{
	struct fixture *f = *state;

	for (uint32_t pid = 1; pid <= 50; pid++)
		REPORT(f, "p", pid, 1, native_frame(f->prog, 0x3000 + pid % 2, pid % 2),
		       native_frame(f->prog, 0x1000, 0));
	free(fixture_output(f, write_stacks));
	assert_int_equal(f->lookups, 2);
}

static void stacks_that_read_the_same_are_one(void **state)
{
	struct fixture *f = *state;
	struct stack_counts counts;

	fixture_report_all_kinds(f);
	assert_int_equal(fixture_snapshot(f)->count, 6);
	assert_int_equal(
		stack_counts_init(&counts, fixture_snapshot(f), &f->lookup, false, SIZE_MAX), 0);
	assert_int_equal(counts.total, 17);
	assert_int_equal(counts.stacks.sequences.count, 5);
	assert_int_equal(counts.stacks.sequences.items[0].count, 5 + 2);
	stack_counts_deinit(&counts);
	stack_counts_deinit(&counts);
}

static void lines_part_stacks_if_they_are_wanted(void **state)
{
	struct fixture *f = *state;
	struct frame frame = { .kind = 16, .function = "f", .file = "x.py" };
	struct stack_counts counts;

	for (frame.line = 1; frame.line <= 3; frame.line++)
		REPORT(f, "p", 1, 1, frame);
	assert_int_equal(stack_counts_init(&counts, fixture_snapshot(f), NULL, false, SIZE_MAX), 0);
	assert_int_equal(counts.stacks.sequences.count, 1);
	stack_counts_deinit(&counts);
	assert_int_equal(stack_counts_init(&counts, fixture_snapshot(f), NULL, true, SIZE_MAX), 0);
	assert_int_equal(counts.stacks.sequences.count, 3);
	stack_counts_deinit(&counts);
}

static void lists_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct stack_counts counts = { .total = 3 };

	/* Three numbers each: the process and two frames. */
	REPORT(f, "a", 1, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	REPORT(f, "b", 1, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	REPORT(f, "b", 2, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	assert_int_equal(stack_counts_init(&counts, fixture_snapshot(f), NULL, false, 23), -E2BIG);
	assert_int_equal(counts.total, 3);
	assert_int_equal(stack_counts_init(&counts, fixture_snapshot(f), NULL, false, 24), 0);
	assert_int_equal(counts.total, 3);
	stack_counts_deinit(&counts);
}

static void stacks_stand_in_the_order_of_counts_and_then_of_texts(void **state)
{
	struct fixture *f = *state;
	char *text;

	REPORT(f, "b", 1, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 1, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 1, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "z", 1, 2, native_frame(f->prog, 0x1000, 0));
	text = fixture_output(f, write_stacks);
	assert_string_equal(text, "z;main\na;main\na;main;foo:bar baz\nb;main\n");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_address_is_looked_up_once),
		TEST(stacks_that_read_the_same_are_one),
		TEST(lines_part_stacks_if_they_are_wanted),
		TEST(lists_are_bounded),
		TEST(stacks_stand_in_the_order_of_counts_and_then_of_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
