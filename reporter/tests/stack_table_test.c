/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

static void the_stack_table_has_shares_most_frequent_first(void **state)
{
	struct fixture *f = *state;
	char *text;

	REPORT(f, "b", 1, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 2, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "c", 3, 5, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 4, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	text = fixture_output(f, stack_table_write);
	assert_string_equal(text, "62.5% c;main\n"
				  "12.5% a;main\n"
				  "12.5% a;main;foo:bar baz\n"
				  "12.5% b;main\n");
	free(text);
}

static void no_samples_make_an_empty_table(void **state)
{
	char *text = fixture_output(*state, stack_table_write);

	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_stack_table_has_shares_most_frequent_first),
		TEST(no_samples_make_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
