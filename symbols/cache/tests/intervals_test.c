/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "symbols/cache/address_runs.h"
#include "symbols/cache/intervals.h"

enum {
	SPAN = 400,
	INTERVALS = 40,
};

/* The reference searches for the interval of the highest order at each address. */
static void of_several_intervals_the_highest_counts(void **state)
{
	(void)state;
	srand(2);
	for (int round = 0; round < 300; round++) {
		struct interval_vector intervals = { 0 };
		struct address_runs runs = { 0 };
		uint32_t expected[SPAN] = { 0 };
		struct address_rows rows;
		struct address_row next;
		uint32_t value = 0;
		bool has_next;

		for (uint32_t i = 1; i <= INTERVALS; i++) {
			uint32_t start = rand() % SPAN, end = start + rand() % 60;

			if (!(rand() % 20))
				end = start - start / 2;
			assert_int_equal(interval_vector_push(
						 &intervals, (struct interval){ start, end, i, i }),
					 0);
			for (uint32_t at = start; at < end && at < SPAN; at++)
				expected[at] = i;
		}
		assert_int_equal(intervals_flatten(&intervals, &runs), 0);
		address_rows_init(&rows, &runs, 0, UINT64_MAX);
		has_next = address_rows_next(&rows, &next);
		for (uint32_t at = 0; at < SPAN; at++) {
			if (has_next && next.address == at) {
				value = next.value.first;
				has_next = address_rows_next(&rows, &next);
			}
			assert_int_equal(value, expected[at]);
		}
		interval_vector_deinit(&intervals);
		address_runs_deinit(&runs);
	}
}

static void no_intervals_are_no_runs(void **state)
{
	struct interval_vector intervals = { 0 };
	struct address_runs runs = { 0 };

	(void)state;
	assert_int_equal(intervals_flatten(&intervals, &runs), 0);
	assert_int_equal(address_runs_count(&runs), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_several_intervals_the_highest_counts),
		cmocka_unit_test(no_intervals_are_no_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
