/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void chunks_come_one_behind_the_other(void **state)
{
	struct text_builder builder = { 0 };
	char longer[500];

	(void)state;
	assert_string_equal(text_builder_text(&builder), "");
	text_builder_append(&builder, "a");
	text_builder_append_bytes(&builder, "bcd", 2);
	text_builder_format(&builder, "%d;%s", 17, "e");
	assert_string_equal(text_builder_text(&builder), "abc17;e");
	assert_int_equal(builder.length, 7);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	text_builder_format(&builder, "%s", longer);
	assert_int_equal(strlen(text_builder_text(&builder)), 7 + 499);
	assert_false(builder.failed);
	text_builder_clear(&builder);
	assert_string_equal(text_builder_text(&builder), "");
	text_builder_deinit(&builder);
}

static void a_size_that_cannot_be_marks_the_builder(void **state)
{
	struct text_builder builder = { 0 };

	(void)state;
	text_builder_append(&builder, "a");
	text_builder_append_bytes(&builder, "b", SIZE_MAX);
	assert_true(builder.failed);
	text_builder_append(&builder, "c");
	assert_string_equal(text_builder_text(&builder), "a");
	text_builder_clear(&builder);
	assert_false(builder.failed);
	text_builder_deinit(&builder);
}

static void assert_name(const char *name, const char *expected)
{
	struct text_builder builder = { 0 };

	text_builder_append_name(&builder, name);
	assert_string_equal(text_builder_text(&builder), expected);
	text_builder_deinit(&builder);
}

static void controls_of_the_direction_of_text_are_replaced(void **state)
{
	(void)state;
	/* U+202E, 2066, 200F, 061C and 202A. */
	assert_name("a\xe2\x80\xae"
		    "b\xe2\x81\xa6"
		    "c\xe2\x80\x8f"
		    "d\xd8\x9c"
		    "e\xe2\x80\xaa",
		    "a?b?c?d?e?");
	/* Neighbours of theirs are text: U+061B, 200D, 2010, 2029 (a line end), 202F, 2065. */
	assert_name("\xd8\x9b\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5",
		    "\xd8\x9b\xe2\x80\x8d\xe2\x80\x90 \xe2\x80\xaf\xe2\x81\xa5");
}

static void plain_and_foreign_names_stay(void **state)
{
	(void)state;
	assert_name("", "");
	assert_name("std::vector<int; 3>::at(size_t) const",
		    "std::vector<int; 3>::at(size_t) const");
	assert_name("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7");
}

static void line_ends_become_spaces_and_controls_question_marks(void **state)
{
	(void)state;
	assert_name("a\nb\rc\r\nd", "a b c  d");
	assert_name("\x1b[31m\x07\x7f", "?[31m??");
	assert_name("a\xc2\x85"
		    "b\xc2\x9b"
		    "c",
		    "a b?c");
	assert_name("a\xe2\x80\xa8"
		    "b\xe2\x80\xa9"
		    "c",
		    "a b c");
}

static void bytes_that_are_no_utf8_become_question_marks(void **state)
{
	(void)state;
	/* Alone, cut short, overlong, a surrogate, above U+10FFFF. */
	assert_name("\x80"
		    "a\xff",
		    "?a?");
	assert_name("a\xe2\x82", "a??");
	assert_name("\xc0\xaf", "??");
	assert_name("\xe0\x80\xaf", "???");
	assert_name("\xed\xa0\x80", "???");
	assert_name("\xf4\x90\x80\x80", "????");
	assert_name("\xf0\x9f\x90", "???");
	assert_name("\xe2\x28\xa1", "?(?");
}

static void a_text_that_is_too_wide_ends_in_dots(void **state)
{
	static const char *const fitted[] = { "", ".", "..", "a..", "abcd" };

	(void)state;
	for (size_t columns = 0; columns < sizeof(fitted) / sizeof(fitted[0]); columns++) {
		struct text_builder builder = { 0 };

		text_builder_append_fitted(&builder, "abcd", columns);
		assert_string_equal(text_builder_text(&builder), fitted[columns]);
		text_builder_deinit(&builder);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_come_one_behind_the_other),
		cmocka_unit_test(a_size_that_cannot_be_marks_the_builder),
		cmocka_unit_test(controls_of_the_direction_of_text_are_replaced),
		cmocka_unit_test(plain_and_foreign_names_stay),
		cmocka_unit_test(line_ends_become_spaces_and_controls_question_marks),
		cmocka_unit_test(bytes_that_are_no_utf8_become_question_marks),
		cmocka_unit_test(a_text_that_is_too_wide_ends_in_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
