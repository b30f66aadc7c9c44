/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

/* The stack table; the caller frees it. */
static char *written(struct fixture *f, const struct profile_info *info)
{
	struct stack_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(
		stack_counts_init(&counts, fixture_snapshot(f), &f->lookup, false, SIZE_MAX), 0);
	assert_int_equal(stack_table_write(out, &counts, fixture_snapshot(f), info), 0);
	fclose(out);
	stack_counts_deinit(&counts);
	return text;
}

static void the_stack_table_has_shares_most_frequent_first(void **state)
{
	struct fixture *f = *state;
	char *text;

	REPORT(f, "b", 1, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 2, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "c", 3, 5, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 4, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	text = written(f, &(struct profile_info){ 0 });
	assert_string_equal(text, "62.5% c;main\n"
				  "12.5% a;main\n"
				  "12.5% a;main;foo:bar baz\n"
				  "12.5% b;main\n");
	free(text);
}

static void no_samples_make_an_empty_table(void **state)
{
	char *text = written(*state, &(struct profile_info){ 0 });

	assert_string_equal(text, "");
	free(text);
}

static void comments_before_it_state_where_the_samples_come_from(void **state)
{
	static const struct profile_info info = {
		.start_time_ns = 1700000000000000000,
		.duration_ns = 2500000000,
		.samples_per_second = 19,
		.host = "box\n9",
		.kernel = "6.1",
		.version = "1.2",
		.selection = "-comm a",
	};
	struct fixture *f = *state;
	char *text;

	REPORT(f, "a", 2, 1, native_frame(f->prog, 0x1000, 0));
	text = written(f, &info);
	assert_string_equal(text, "# host: box 9\n"
				  "# kernel: Linux 6.1\n"
				  "# start: 2023-11-14T22:13:20Z\n"
				  "# duration: 2.500 s\n"
				  "# rate: 19 samples per second and CPU\n"
				  "# selection: -comm a\n"
				  "# quality: 1 of 1 stacks are complete\n"
				  "# agent: allframes 1.2\n"
				  "100.0% a;main\n");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_stack_table_has_shares_most_frequent_first),
		TEST(no_samples_make_an_empty_table),
		TEST(comments_before_it_state_where_the_samples_come_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
