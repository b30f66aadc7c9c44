// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Before cmocka.h, whose macro fail() would break its declarations. */
#include "agent/option_values.h"
#include "lib/base/clock.h"

#include <cmocka.h>

static void numbers_are_decimal_digits(void **state)
{
	uint64_t number = 7;

	(void)state;
	assert_int_equal(option_parse_number("0", &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(option_parse_number("007", &number), 0);
	assert_int_equal(number, 7);
	assert_int_equal(option_parse_number("18446744073709551615", &number), 0);
	assert_true(number == UINT64_MAX);
}

static void other_numbers_are_refused(void **state)
{
	static const char *const texts[] = { "",
					     "-1",
					     "+1",
					     " 1",
					     "1 ",
					     "1x",
					     "0x1",
					     "1.0",
					     "1e3",
					     "18446744073709551616",
					     "99999999999999999999" };
	uint64_t number = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(option_parse_number(texts[i], &number), -EINVAL);
	assert_int_equal(number, 7);
}

static void durations_add_up_their_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "5s", 5 * NS_PER_SECOND },	  { "100ms", 100 * NS_PER_MS },
		{ "2m30s", 150 * NS_PER_SECOND }, { "1h", 3600 * NS_PER_SECOND },
		{ "1h1ms", 3600001 * NS_PER_MS }, { "1h2m3s4ms", 3723004 * NS_PER_MS },
		{ "90s", 90 * NS_PER_SECOND },	  { "0s", 0 },
		{ "1m1ms", 60001 * NS_PER_MS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 1;

		assert_int_equal(option_parse_duration(cases[i].text, &ns), 0);
		assert_true(ns == cases[i].ns);
	}
}

static void other_durations_are_refused(void **state)
{
	static const char *const texts[] = { "",
					     "5",
					     "s",
					     "5 s",
					     "-5s",
					     "1.5s",
					     "5d",
					     "5S",
					     "30s2m",
					     "1s1s",
					     "5s ",
					     "5us",
					     "5s1",
					     "5sm",
					     "m5s",
					     "5mss",
					     "5s,10s",
					     "9999999999999999h",
					     "18446744073s999999ms" };
	uint64_t ns = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(option_parse_duration(texts[i], &ns), -EINVAL);
	assert_true(ns == 1);
}

static void fractions_lie_between_0_and_1(void **state)
{
	static const char *const wrong[] = { "",  ".5",	  "1.",	  "-0.1", "1.01",
					     "2", "0.5x", "1e-1", "0,5",  "nan" };
	double fraction = 7;

	(void)state;
	assert_int_equal(option_parse_fraction("0", &fraction), 0);
	assert_true(fraction == 0);
	assert_int_equal(option_parse_fraction("1.000", &fraction), 0);
	assert_true(fraction == 1);
	assert_int_equal(option_parse_fraction("0.25", &fraction), 0);
	assert_true(fraction > 0.2499999 && fraction < 0.2500001);
	fraction = 7;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(option_parse_fraction(wrong[i], &fraction), -EINVAL);
	assert_true(fraction == 7);
}

static void sizes_take_a_suffix(void **state)
{
	uint64_t bytes = 1;

	(void)state;
	assert_int_equal(option_parse_size("12", &bytes), 0);
	assert_int_equal(bytes, 12);
	assert_int_equal(option_parse_size("3K", &bytes), 0);
	assert_int_equal(bytes, 3072);
	assert_int_equal(option_parse_size("256M", &bytes), 0);
	assert_int_equal(bytes, 256 << 20);
	assert_int_equal(option_parse_size("2G", &bytes), 0);
	assert_true(bytes == 2ULL << 30);
}

static void other_sizes_are_refused(void **state)
{
	static const char *const texts[] = { "",   "M",	  "1T",	  "1MB",	 "1m",
					     "-1", "1 M", "1.5M", "17179869184G" };
	uint64_t bytes = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(option_parse_size(texts[i], &bytes), -EINVAL);
	assert_int_equal(bytes, 1);
}

static void assert_list(const char *text, const uint32_t *expected, uint32_t expected_count)
{
	uint32_t *numbers = NULL;
	uint32_t count = 0;

	assert_int_equal(option_parse_list(text, true, 0, 100, 16, &numbers, &count), 0);
	assert_int_equal(count, expected_count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(numbers[i], expected[i]);
	free(numbers);
}

static void lists_are_sorted_and_free_of_duplicates(void **state)
{
	(void)state;
	assert_list("7", (uint32_t[]){ 7 }, 1);
	assert_list("0-3,5", (uint32_t[]){ 0, 1, 2, 3, 5 }, 5);
	assert_list("5,0-3", (uint32_t[]){ 0, 1, 2, 3, 5 }, 5);
	assert_list("2-4,3,3-5,4", (uint32_t[]){ 2, 3, 4, 5 }, 4);
	assert_list("100,100", (uint32_t[]){ 100 }, 1);
	assert_list("1-1", (uint32_t[]){ 1 }, 1);
	assert_list("0-15", (uint32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		    16);
}

static void other_lists_are_refused(void **state)
{
	static const char *const texts[] = {
		"",   ",",     "1,", ",1", "1,,2", "3-1",    "1-",
		"-1", "1-2-3", "a",  "1 ", "101",  "99-101", "0-18446744073709551615"
	};
	uint32_t *numbers = NULL;
	uint32_t count = 3;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(option_parse_list(texts[i], true, 0, 100, 16, &numbers, &count),
				 -EINVAL);
	assert_int_equal(option_parse_list("0", true, 1, 100, 16, &numbers, &count), -EINVAL);
	assert_int_equal(option_parse_list("1-2", false, 1, 100, 16, &numbers, &count), -EINVAL);
	assert_null(numbers);
	assert_int_equal(count, 3);
}

static void long_lists_are_refused(void **state)
{
	uint32_t *numbers = NULL;
	uint32_t count = 3;

	(void)state;
	assert_int_equal(option_parse_list("0-16", true, 0, 100, 16, &numbers, &count), -E2BIG);
	assert_int_equal(option_parse_list("0-15,20", true, 0, 100, 16, &numbers, &count), -E2BIG);
	assert_int_equal(option_parse_list("0-4294967295", true, 0, UINT32_MAX, 16, &numbers,
					   &count),
			 -E2BIG);
	assert_null(numbers);
	assert_int_equal(count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_decimal_digits),
		cmocka_unit_test(other_numbers_are_refused),
		cmocka_unit_test(durations_add_up_their_units),
		cmocka_unit_test(other_durations_are_refused),
		cmocka_unit_test(fractions_lie_between_0_and_1),
		cmocka_unit_test(sizes_take_a_suffix),
		cmocka_unit_test(other_sizes_are_refused),
		cmocka_unit_test(lists_are_sorted_and_free_of_duplicates),
		cmocka_unit_test(other_lists_are_refused),
		cmocka_unit_test(long_lists_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
