/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sort_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
	MOST_TIMES = 300,
};

/* A value from which the time can be told. */
static uint64_t value_of(uint64_t time)
{
	return time * 3 + 1;
}

static void check(size_t count, uint64_t times_apart, bool with_values)
{
	uint64_t times[MOST_TIMES], values[MOST_TIMES], sum = 0;

	for (size_t i = 0; i < count; i++) {
		times[i] = (uint64_t)rand() % times_apart;
		values[i] = value_of(times[i]);
		sum += times[i];
	}
	sort_times(times, with_values ? values : NULL, count);
	for (size_t i = 0; i < count; i++) {
		sum -= times[i];
		assert_true(!i || times[i] >= times[i - 1]);
		assert_true(!with_values || values[i] == value_of(times[i]));
	}
	assert_int_equal(sum, 0);
}

static void times_come_in_order(void **state)
{
	(void)state;
	srand(1);
	for (size_t count = 0; count < MOST_TIMES; count++)
		check(count, 1000, false);
}

static void values_stay_with_their_times(void **state)
{
	(void)state;
	srand(1);
	for (size_t count = 0; count < MOST_TIMES; count++) {
		check(count, 1000, true);
		check(count, 3, true);
	}
}

static void times_in_order_are_left_alone(void **state)
{
	uint64_t times[] = { 1, 2, 2, 9 }, values[] = { 4, 3, 2, 1 };
	const uint64_t as_before[] = { 4, 3, 2, 1 };

	(void)state;
	sort_times(times, values, 4);
	assert_memory_equal(values, as_before, sizeof(values));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_come_in_order),
		cmocka_unit_test(values_stay_with_their_times),
		cmocka_unit_test(times_in_order_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
