/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/ruby/ruby_lines.h"

enum { POSITIONS = 1500 };

/* Makes the bit vector of entries at @positions, as the definition of succ_index_table_create() has it. */
static void make_index(const uint32_t *positions, uint32_t count, uint64_t *index)
{
	for (uint32_t position = 0; position < 54; position++) {
		uint64_t rank = 0;

		for (uint32_t i = 0; i < count; i++)
			rank += positions[i] <= position;
		index[position / 9] |= rank << 7 * (position % 9);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t position = positions[i] - 54;

		if (positions[i] < 54)
			continue;
		index[6 + position / 512 * 10 + 2 + position % 512 / 64] |= 1ULL << position % 64;
	}
	for (uint32_t block = 0; 54 + block * 512 < POSITIONS; block++) {
		for (uint32_t i = 0; i < count; i++) {
			index[6 + block * 10] += positions[i] < 54 + block * 512;
			for (uint32_t small = 1; small < 8; small++)
				index[6 + block * 10 + 1] +=
					(uint64_t)(positions[i] >= 54 + block * 512 &&
						   positions[i] < 54 + block * 512 + small * 64)
					<< 9 * (small - 1);
		}
	}
}

static void lines_are_those_of_the_last_entry_before(void **state)
{
	uint32_t positions[120], lines[120], count = 0;
	uint64_t index[6 + 3 * 10] = { 0 };
	struct ruby_lines table = { .lines = lines, .index = index };

	(void)state;
	for (uint32_t position = 0; position < POSITIONS; position += 1 + position % 29) {
		positions[count] = position;
		lines[count] = 1000 + count;
		count++;
	}
	make_index(positions, count, index);
	table.count = count;
	table.index_words = ruby_lines_index_words(POSITIONS);
	assert_int_equal(table.index_words, 6 + 3 * 10);
	for (uint32_t position = 0, entry = 0; position < POSITIONS; position++) {
		while (entry + 1 < count && positions[entry + 1] <= position)
			entry++;
		assert_int_equal(ruby_line(&table, position), lines[entry]);
	}
}

static void a_single_entry_has_no_index(void **state)
{
	const uint32_t line = 7;
	const struct ruby_lines one = { .lines = &line, .count = 1 }, none = { .count = 0 };

	(void)state;
	assert_int_equal(ruby_line(&one, 0), 7);
	assert_int_equal(ruby_line(&one, 100000), 7);
	assert_int_equal(ruby_line(&none, 0), 0);
}

static void what_lies_behind_the_tables_has_no_line(void **state)
{
	const uint32_t lines[2] = { 1, 2 };
	const uint64_t index[6] = { 0x7f, 0, 0, 0, 0, 0 };
	const struct ruby_lines table = {
		.lines = lines, .count = 2, .index = index, .index_words = 2
	};

	(void)state;
	assert_int_equal(ruby_line(&table, 0), 0);
	assert_int_equal(ruby_line(&table, 1), 0);
	assert_int_equal(ruby_line(&table, 53), 0);
	assert_int_equal(ruby_line(&table, 54), 0);
	assert_int_equal(ruby_line(&table, UINT32_MAX), 0);
}

static void the_index_of_few_positions_is_short(void **state)
{
	(void)state;
	assert_int_equal(ruby_lines_index_words(1), 1);
	assert_int_equal(ruby_lines_index_words(9), 1);
	assert_int_equal(ruby_lines_index_words(10), 2);
	assert_int_equal(ruby_lines_index_words(54), 6);
	assert_int_equal(ruby_lines_index_words(55), 16);
	assert_int_equal(ruby_lines_index_words(54 + 512), 16);
	assert_int_equal(ruby_lines_index_words(54 + 513), 26);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_the_last_entry_before),
		cmocka_unit_test(a_single_entry_has_no_index),
		cmocka_unit_test(what_lies_behind_the_tables_has_no_line),
		cmocka_unit_test(the_index_of_few_positions_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
