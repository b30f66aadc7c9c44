/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/radix_sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

enum { COUNT = 20000 };

/* The next of a sequence of numbers that look like random ones (Marsaglia's xorshift). */
static uint64_t next_number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void sort_and_check(uint64_t *keys, size_t count)
{
	uint64_t sum = 0, after = 0;

	for (size_t i = 0; i < count; i++)
		sum += keys[i];
	assert_int_equal(radix_sort_upper_half(keys, count), 0);
	for (size_t i = 0; i < count; i++) {
		after += keys[i];
		/* The lower halves were ascending, so the order of equal upper halves shows in them. */
		if (i)
			assert_true(keys[i - 1] < keys[i]);
	}
	assert_int_equal(sum, after);
}

static void numbers_are_sorted_by_their_upper_half(void **state)
{
	uint64_t *keys = malloc(COUNT * sizeof(*keys)), seed = 88172645463325252;

	(void)state;
	assert_non_null(keys);
	for (uint32_t bits = 1; bits <= 32; bits++) {
		for (uint64_t i = 0; i < COUNT; i++)
			keys[i] = next_number(&seed) >> (64 - bits) << 32 | i;
		sort_and_check(keys, COUNT);
	}
	/* Differences in one bit alone, the highest and the lowest among them. */
	for (uint32_t bit = 32; bit < 64; bit++) {
		for (uint64_t i = 0; i < COUNT; i++)
			keys[i] = (next_number(&seed) & 1) << bit | i;
		sort_and_check(keys, COUNT);
	}
	free(keys);
}

static void few_numbers_are_sorted(void **state)
{
	uint64_t keys[] = { (uint64_t)UINT32_MAX << 32, 1 };

	(void)state;
	assert_int_equal(radix_sort_upper_half(keys, 0), 0);
	assert_int_equal(radix_sort_upper_half(keys, 1), 0);
	assert_int_equal(keys[0], (uint64_t)UINT32_MAX << 32);
	sort_and_check(keys, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_sorted_by_their_upper_half),
		cmocka_unit_test(few_numbers_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
