/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
VECTOR_DEFINE(number_vector, int)

static void pushed_items_stay_in_order_through_growth(void **state)
{
	struct number_vector vector = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(number_vector_push(&vector, i), 0);
	assert_int_equal(vector.count, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vector.items[i], i);
	number_vector_deinit(&vector);
	assert_null(vector.items);
	assert_int_equal(vector.count, 0);
}

static void items_are_inserted_and_removed_anywhere(void **state)
{
	struct number_vector vector = { 0 };
	const int expected[] = { 1, 3, 4 };

	(void)state;
	number_vector_insert(&vector, 0, 3);
	number_vector_insert(&vector, 0, 1);
	number_vector_insert(&vector, 1, 2);
	number_vector_insert(&vector, 3, 4);
	number_vector_remove(&vector, 1);
	assert_int_equal(vector.count, 3);
	assert_memory_equal(vector.items, expected, sizeof(expected));
	number_vector_remove(&vector, 2);
	assert_int_equal(vector.count, 2);
	number_vector_deinit(&vector);
}

static void reserved_room_does_not_move(void **state)
{
	struct number_vector vector = { 0 };
	int *items;

	(void)state;
	assert_int_equal(number_vector_reserve(&vector, 100), 0);
	items = vector.items;
	for (int i = 0; i < 100; i++)
		number_vector_push(&vector, i);
	assert_ptr_equal(vector.items, items);
	number_vector_deinit(&vector);
}

static void shrunk_arrays_keep_their_items(void **state)
{
	struct number_vector vector = { 0 };

	(void)state;
	assert_int_equal(number_vector_reserve(&vector, 10000), 0);
	number_vector_push(&vector, 7);
	vector.items = vector_shrink(vector.items, vector.count * sizeof(vector.items[0]));
	assert_int_equal(vector.items[0], 7);
	number_vector_deinit(&vector);
}

static void a_size_that_overflows_is_refused_and_nothing_is_lost(void **state)
{
	struct number_vector vector = { 0 };

	(void)state;
	number_vector_push(&vector, 7);
	assert_int_equal(number_vector_reserve(&vector, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(vector.items[0], 7);
	number_vector_deinit(&vector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_items_stay_in_order_through_growth),
		cmocka_unit_test(items_are_inserted_and_removed_anywhere),
		cmocka_unit_test(reserved_room_does_not_move),
		cmocka_unit_test(shrunk_arrays_keep_their_items),
		cmocka_unit_test(a_size_that_overflows_is_refused_and_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
