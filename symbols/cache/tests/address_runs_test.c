/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbols/cache/address_runs.h"
#include "symbols/cache/big_bytes.h"

VECTOR_DEFINE(address_row_vector, struct address_row)

static void add(struct address_runs *runs, uint64_t address, uint32_t first, uint32_t second)
{
	assert_int_equal(address_runs_add(runs, (struct address_row){ address, { first, second } }),
			 0);
}

/* All rows; the caller owns them. */
static struct address_row_vector finish(struct address_runs *runs, uint64_t first_address,
					uint64_t end_address)
{
	struct address_row_vector all = { 0 };
	struct address_rows rows;
	struct address_row row;

	address_rows_init(&rows, runs, first_address, end_address);
	while (address_rows_next(&rows, &row)) {
		assert_true(!all.count || row.address > all.items[all.count - 1].address);
		assert_int_equal(address_row_vector_push(&all, row), 0);
	}
	assert_false(address_rows_next(&rows, &row));
	address_runs_deinit(runs);
	return all;
}

/* Asserts the last row at or below @address. */
static void expect(const struct address_row_vector *rows, uint64_t address, uint32_t first,
		   uint32_t second)
{
	struct address_value value = { 0 };
	size_t low = 0, high = rows->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rows->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		value = rows->items[low - 1].value;
	assert_int_equal(value.first, first);
	assert_int_equal(value.second, second);
}

static void a_value_holds_up_to_the_next_row_and_the_end_of_its_run(void **state)
{
	struct address_row_vector table;
	struct address_runs runs = { 0 };

	(void)state;
	add(&runs, 0x2000, 7, 70);
	add(&runs, 0x2004, 8, 70);
	add(&runs, 0x2010, 0, 0);
	add(&runs, 0x1000, 1, UINT32_MAX);
	add(&runs, 0x1000, 2, 20);
	add(&runs, 0x1100, 0, 0);
	table = finish(&runs, 0, UINT64_MAX);
	expect(&table, 0xfff, 0, 0);
	expect(&table, 0x1000, 2, 20);
	expect(&table, 0x10ff, 2, 20);
	expect(&table, 0x1100, 0, 0);
	expect(&table, 0x1fff, 0, 0);
	expect(&table, 0x2000, 7, 70);
	expect(&table, 0x2003, 7, 70);
	expect(&table, 0x2004, 8, 70);
	expect(&table, 0x200f, 8, 70);
	expect(&table, 0x2010, 0, 0);
	expect(&table, UINT64_MAX, 0, 0);
	address_row_vector_deinit(&table);
}

static void addresses_that_fall_are_refused(void **state)
{
	struct address_runs runs = { 0 };

	(void)state;
	add(&runs, 0x2000, 7, 70);
	assert_int_not_equal(address_runs_add(&runs, (struct address_row){ 0x1fff, { 1, 1 } }), 0);
	address_runs_deinit(&runs);
}

static void the_run_that_begins_first_has_what_overlaps(void **state)
{
	struct address_row_vector table;
	struct address_runs runs = { 0 };

	(void)state;
	add(&runs, UINT64_MAX - 0x100, 6, 0);
	add(&runs, UINT64_MAX - 1, 0, 0);
	add(&runs, 0x150, 3, 0);
	add(&runs, 0x180, 4, 0);
	add(&runs, 0x300, 0, 0);
	add(&runs, 0x100, 1, 0);
	add(&runs, 0x200, 0, 0);
	add(&runs, 0x120, 5, 0);
	add(&runs, 0x130, 0, 0);
	table = finish(&runs, 0x101, 0x290);
	expect(&table, 0x100, 0, 0);
	expect(&table, 0x101, 1, 0);
	expect(&table, 0x120, 1, 0);
	expect(&table, 0x1ff, 1, 0);
	expect(&table, 0x200, 4, 0);
	expect(&table, 0x28f, 4, 0);
	expect(&table, 0x290, 0, 0);
	address_row_vector_deinit(&table);
}

/* Compared with an array that has an entry for each address. */
static void random_rows_are_found(void **state)
{
	enum { SPAN = 60000 };
	static struct address_value expected[SPAN];
	struct address_row_vector table;
	struct address_runs runs = { 0 };
	struct address_value value = { 0 };
	uint32_t next = 0;

	(void)state;
	srand(1);
	for (uint32_t i = 0; i < SPAN; i++) {
		if (i == next) {
			value = (struct address_value){ 0 };
			if (rand() % 8) {
				value.first = rand() % 3 ? (uint32_t)rand() : 5;
				value.second = rand() % 100;
			}
			add(&runs, 0x7f0000000000 + i, value.first, value.second);
			next += 1 + rand() % (rand() % 50 ? 12 : 900);
		}
		expected[i] = value;
	}
	add(&runs, 0x7f0000000000 + SPAN, 0, 0);
	table = finish(&runs, 0, UINT64_MAX);
	for (uint32_t i = 0; i < SPAN; i++)
		expect(&table, 0x7f0000000000 + i, expected[i].first, expected[i].second);
	assert_true(table.count > 1000);
	address_row_vector_deinit(&table);
}

/* More runs than qsort() could sort, in any order. */
static void many_runs_are_sorted(void **state)
{
	enum { RUNS = 200000, STEP = 7919 };
	struct address_runs runs = { 0 };
	struct address_row_vector rows;
	uint64_t at = 0;

	(void)state;
	for (uint32_t i = 0; i < RUNS; i++) {
		at = (at + STEP) % RUNS;
		add(&runs, 0x1000 + at * 16, at + 1, 5);
		add(&runs, 0x1000 + at * 16 + 10, 0, 0);
	}
	assert_int_equal(address_runs_count(&runs), RUNS);
	assert_true(runs.runs.count > BIG_BYTES_IN_HEAP_MAX);
	rows = finish(&runs, 0, UINT64_MAX);
	assert_int_equal(rows.count, 2 * RUNS);
	for (uint32_t i = 0; i < rows.count; i++) {
		assert_int_equal(rows.items[i].address, 0x1000 + i / 2 * 16 + i % 2 * 10);
		assert_int_equal(rows.items[i].value.first, i % 2 ? 0 : i / 2 + 1);
	}
	address_row_vector_deinit(&rows);
}

static void nothing_has_no_rows(void **state)
{
	struct address_row_vector table;
	struct address_runs runs = { 0 };

	(void)state;
	table = finish(&runs, 0, UINT64_MAX);
	expect(&table, 0, 0, 0);
	address_row_vector_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_holds_up_to_the_next_row_and_the_end_of_its_run),
		cmocka_unit_test(addresses_that_fall_are_refused),
		cmocka_unit_test(the_run_that_begins_first_has_what_overlaps),
		cmocka_unit_test(random_rows_are_found),
		cmocka_unit_test(many_runs_are_sorted),
		cmocka_unit_test(nothing_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
