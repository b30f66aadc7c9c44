/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

static void expect(const char *name, const char *meant)
{
	struct text_builder text = { 0 };

	assert_int_equal(demangle(name, &text), meant != NULL);
	assert_string_equal(text_builder_text(&text), meant ? meant : "");
	text_builder_deinit(&text);
}

static void names_of_cpp_and_both_schemes_of_rust_are_written_out(void **state)
{
	(void)state;
	expect("_ZN4shop3boxIiE4sideEv", "shop::box<int>::side()");
	expect("_Z3fooi.part.0", "foo(int) [clone .part.0]");
	expect("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
	       "core::fmt::Formatter::write_str");
	expect("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
}

static void other_names_stay(void **state)
{
	(void)state;
	expect("main", NULL);
	expect("", NULL);
	expect("_start", NULL);
	expect("_Z", NULL);
	expect("_ZN4shop", NULL);
	expect("main.main", NULL);
}

/* Each of 40 types is a pair of the previous one: 2^40 names. */
static void a_name_that_means_terabytes_stays(void **state)
{
	char name[1024] = "_Z1f1AIiiE";
	size_t length = strlen(name);

	(void)state;
	for (int i = 0; i < 40; i++) {
		/* A template and its instance have a number each: S_, S0_ to S9_, SA_ ... */
		const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char last[8];
		int number = 2 * i;

		if (number < 36)
			snprintf(last, sizeof(last), "S%c_", digits[number]);
		else
			snprintf(last, sizeof(last), "S%c%c_", digits[number / 36],
				 digits[number % 36]);
		length += snprintf(name + length, sizeof(name) - length, "1BI%s%sE", last, last);
	}
	expect(name, NULL);
}

static void long_names_stay(void **state)
{
	static char name[DEMANGLE_MAX_BYTES + 100] = "_Z70000";

	(void)state;
	memset(name + 7, 'a', sizeof(name) - 8);
	expect(name, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_cpp_and_both_schemes_of_rust_are_written_out),
		cmocka_unit_test(other_names_stay),
		cmocka_unit_test(a_name_that_means_terabytes_stays),
		cmocka_unit_test(long_names_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
