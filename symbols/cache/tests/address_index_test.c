/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbols/cache/address_index.h"

/* Compares look-ups among @count random addresses with a linear search. */
static void check_index(uint32_t count)
{
	struct offset_vector addresses = { 0 }, built = { 0 };
	struct address_index index;
	uint32_t address = 0, at = 0;

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(offset_vector_push(&addresses, address), 0);
		address += 1 + rand() % 9;
	}
	assert_int_equal(address_index_build(&addresses, &built), 0);
	assert_int_equal(address_index_bytes(count), built.count * sizeof(built.items[0]));
	address_index_init(&index, built.items, count);
	for (uint32_t offset = 0; count && offset < address + 100; offset++) {
		while (at + 1 < count && addresses.items[at + 1] <= offset)
			at++;
		assert_int_equal(address_index_find(&index, offset), at);
	}
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(address_index_at(&index, i), addresses.items[i]);
	if (count)
		assert_int_equal(address_index_find(&index, UINT32_MAX), count - 1);
	offset_vector_deinit(&addresses);
	offset_vector_deinit(&built);
}

static void a_block_is_found_in_an_index_of_any_height(void **state)
{
	(void)state;
	srand(1);
	for (uint32_t count = 0; count < 300; count++)
		check_index(count);
	check_index(4096);
	check_index(4097);
	check_index(70000);
}

static void damaged_numbers_lead_to_a_block_that_there_is(void **state)
{
	enum { COUNT = 1000 };
	size_t size = address_index_bytes(COUNT);
	uint8_t *bytes = malloc(size);
	struct address_index index;

	(void)state;
	assert_non_null(bytes);
	srand(1);
	for (int i = 0; i < 200; i++) {
		for (size_t k = 0; k < size; k++)
			bytes[k] = i ? rand() : 0;
		address_index_init(&index, bytes, COUNT);
		for (int k = 0; k < 100; k++)
			assert_true(address_index_find(&index, (uint32_t)rand() * 2) < COUNT);
		assert_true(address_index_find(&index, 0) < COUNT);
		assert_true(address_index_find(&index, UINT32_MAX) < COUNT);
	}
	free(bytes);
}

static void the_largest_index_has_a_size(void **state)
{
	(void)state;
	assert_true(address_index_bytes(UINT32_MAX) > 4ULL * UINT32_MAX);
	assert_true(address_index_bytes(UINT32_MAX) < 5ULL * UINT32_MAX);
	assert_int_equal(address_index_bytes(0), 0);
	assert_int_equal(address_index_bytes(1), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_found_in_an_index_of_any_height),
		cmocka_unit_test(damaged_numbers_lead_to_a_block_that_there_is),
		cmocka_unit_test(the_largest_index_has_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
