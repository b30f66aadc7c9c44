/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/cache/string_table.h"

static void a_string_is_kept_once(void **state)
{
	struct string_table table = { 0 };
	uint32_t first, again, empty, part;

	(void)state;
	assert_int_equal(string_table_add(&table, "main()", 4, &first), 0);
	assert_int_equal(string_table_add(&table, "main", 4, &again), 0);
	assert_int_equal(string_table_add(&table, "main", 3, &part), 0);
	assert_int_equal(string_table_add(&table, "main", 0, &empty), 0);
	assert_int_equal(first, again);
	assert_int_not_equal(first, 0);
	assert_int_not_equal(first, part);
	assert_int_equal(empty, 0);
	assert_string_equal((char *)table.bytes.items + first, "main");
	assert_string_equal((char *)table.bytes.items + part, "mai");
	assert_int_equal(table.bytes.count, 1 + 5 + 4);
	string_table_deinit(&table);
}

static void many_strings_are_found_again(void **state)
{
	enum { COUNT = 5000 };
	static uint32_t numbers[COUNT];
	struct string_table table = { 0 };

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COUNT; i++) {
			uint32_t number;
			char text[16];
			int length = snprintf(text, sizeof(text), "f%d", i);

			assert_int_equal(string_table_add(&table, text, length, &number), 0);
			assert_string_equal((char *)table.bytes.items + number, text);
			if (round)
				assert_int_equal(number, numbers[i]);
			numbers[i] = number;
		}
	}
	assert_int_equal(table.count, COUNT);
	string_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_string_is_kept_once),
		cmocka_unit_test(many_strings_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
