/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/python/python_lines.h"

#define LINE(kind, offset, ...)                                                                    \
	python_line(kind, (const uint8_t[]){ __VA_ARGS__ },                                        \
		    sizeof((const uint8_t[]){ __VA_ARGS__ }), 10, offset)

static void lines_before_3_6_only_grow(void **state)
{
	(void)state;
	assert_int_equal(LINE(PYTHON_LINES_UNSIGNED, 0, 6, 1, 44, 200), 10);
	assert_int_equal(LINE(PYTHON_LINES_UNSIGNED, 6, 6, 1, 44, 200), 11);
	assert_int_equal(LINE(PYTHON_LINES_UNSIGNED, 50, 6, 1, 44, 200), 211);
	assert_int_equal(LINE(PYTHON_LINES_UNSIGNED, 1000, 6, 1, 44, 200, 9), 211);
}

static void lines_from_3_6_on_go_down_as_well(void **state)
{
	(void)state;
	assert_int_equal(LINE(PYTHON_LINES_SIGNED, 5, 0, 1, 6, 127, 0, 20, 2, 0xfc), 11);
	assert_int_equal(LINE(PYTHON_LINES_SIGNED, 6, 0, 1, 6, 127, 0, 20, 2, 0xfc), 158);
	assert_int_equal(LINE(PYTHON_LINES_SIGNED, 8, 0, 1, 6, 127, 0, 20, 2, 0xfc), 154);
	assert_int_equal(LINE(PYTHON_LINES_SIGNED, 8, 0, 0x80), 0);
}

/* The example of Objects/lnotab_notes.txt of 3.10, from line 1 on. */
static void ranges_of_3_10_may_have_no_line(void **state)
{
	static const uint8_t table[] = {
		6, 1, 44, 1, 254, 5, 46, 0, 10, 0x80, 16, 1, 0, 127, 4, 73
	};
	static const struct {
		int64_t offset;
		uint32_t line;
	} expected[] = { { 0, 1 },   { 5, 1 },	 { 6, 2 },     { 49, 2 },    { 50, 7 }, { 349, 7 },
			 { 350, 0 }, { 360, 8 }, { 376, 208 }, { 379, 208 }, { 380, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(python_line(PYTHON_LINES_RANGES, table, sizeof(table), 0,
					     expected[i].offset),
				 expected[i].line);
}

static void locations_from_3_11_on_have_entries_of_varying_length(void **state)
{
	/* 1 unit: short; 2: one line on; 3: +200 without columns; 1: none; 8: long, -3 */
	static const uint8_t table[] = { 0x80, 0x11, 0xd9, 1, 2,    0xea, 0x50, 6,
					 0xf8, 0xf7, 7,	   1, 0x41, 1,	  2 };

	(void)state;
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 0), 10);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 2), 11);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 5), 11);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 6), 211);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 12), 0);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 14), 208);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 29), 208);
	assert_int_equal(python_line(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10, 30), 0);
}

static void a_table_fits_the_instructions_that_it_is_of(void **state)
{
	static const uint8_t pairs[] = { 0, 1, 6, 3, 8, 1 };
	static const uint8_t locations[] = { 0x80, 0x11, 0xd9, 1, 2, 0xea, 0x50, 6 };

	(void)state;
	for (uint64_t bytes = 10; bytes < 20; bytes++) {
		assert_int_equal(python_lines_fit(PYTHON_LINES_SIGNED, pairs, sizeof(pairs), bytes),
				 bytes > 14);
		assert_int_equal(python_lines_fit(PYTHON_LINES_RANGES, pairs, sizeof(pairs), bytes),
				 bytes == 14);
		assert_int_equal(python_lines_fit(PYTHON_LINES_LOCATIONS, locations,
						  sizeof(locations), bytes),
				 bytes == 12);
	}
}

static void what_has_not_begun_is_at_its_first_line(void **state)
{
	(void)state;
	for (int kind = PYTHON_LINES_UNSIGNED; kind <= PYTHON_LINES_LOCATIONS; kind++) {
		assert_int_equal(LINE(kind, -1, 0x80, 1), 10);
		assert_int_equal(python_line(kind, NULL, 0, -5, -1), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_before_3_6_only_grow),
		cmocka_unit_test(lines_from_3_6_on_go_down_as_well),
		cmocka_unit_test(ranges_of_3_10_may_have_no_line),
		cmocka_unit_test(locations_from_3_11_on_have_entries_of_varying_length),
		cmocka_unit_test(a_table_fits_the_instructions_that_it_is_of),
		cmocka_unit_test(what_has_not_begun_is_at_its_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
