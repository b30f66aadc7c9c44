/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/hash_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { KEY_COUNT = 512 };

static void what_is_set_is_found_and_may_be_replaced(void **state)
{
	struct hash_map map = { 0 };
	uint64_t value = 5;

	(void)state;
	assert_false(hash_map_find(&map, 1, &value));
	assert_int_equal(value, 5);
	assert_int_equal(hash_map_set(&map, 1, 10), 0);
	assert_int_equal(hash_map_set(&map, 0, 20), 0);
	assert_int_equal(hash_map_set(&map, 1, 11), 0);
	assert_int_equal(map.count, 2);
	assert_true(hash_map_find(&map, 1, &value));
	assert_int_equal(value, 11);
	assert_true(hash_map_find(&map, 0, NULL));
	hash_map_deinit(&map);
	hash_map_deinit(&map);
}

/* Random sets and removes beside a plain array as the model, so that shifts at all borders occur. */
static void it_agrees_with_an_array_over_many_random_changes(void **state)
{
	struct hash_map map = { 0 };
	uint64_t model[KEY_COUNT] = { 0 };
	uint32_t random = 1;
	size_t count = 0;

	(void)state;
	for (int step = 0; step < 100000; step++) {
		uint32_t key;
		uint64_t value = 0;

		random = random * 1664525 + 1013904223;
		key = random >> 8 & (KEY_COUNT - 1);
		if (random >> 31) {
			assert_int_equal(hash_map_set(&map, key, step + 1), 0);
			count += !model[key];
			model[key] = step + 1;
		} else {
			assert_int_equal(hash_map_remove(&map, key, &value), model[key] != 0);
			assert_int_equal(value, model[key]);
			count -= !!model[key];
			model[key] = 0;
		}
		assert_int_equal(map.count, count);
	}
	for (int key = 0; key < KEY_COUNT; key++) {
		uint64_t value = 0;

		assert_int_equal(hash_map_find(&map, key, &value), model[key] != 0);
		assert_int_equal(value, model[key]);
	}
	hash_map_deinit(&map);
}

static void bytes_are_keys_of_their_own(void **state)
{
	struct hash_map map = { 0 };
	uint64_t number = 0x6162636465666768;
	uint64_t value;
	char name[32];

	(void)state;
	assert_int_equal(hash_map_set_bytes(&map, "", 0, 1), 0);
	assert_int_equal(hash_map_set_bytes(&map, "\0", 1, 2), 0);
	assert_int_equal(hash_map_set_bytes(&map, &number, sizeof(number), 3), 0);
	assert_false(hash_map_find(&map, number, NULL));
	assert_int_equal(hash_map_set(&map, number, 4), 0);
	assert_true(hash_map_find_bytes(&map, "", 0, &value) && value == 1);
	assert_true(hash_map_find_bytes(&map, "\0", 1, &value) && value == 2);
	assert_true(hash_map_find_bytes(&map, &number, sizeof(number), &value) && value == 3);
	assert_true(hash_map_find(&map, number, &value) && value == 4);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		assert_int_equal(hash_map_set_bytes(&map, name, strlen(name), i), 0);
	}
	assert_true(hash_map_find_bytes(&map, "name 999", 8, &value) && value == 999);
	assert_true(hash_map_remove_bytes(&map, "name 999", 8, &value) && value == 999);
	assert_false(hash_map_find_bytes(&map, "name 999", 8, &value));
	assert_false(hash_map_remove_bytes(&map, "name 999", 8, NULL));
	hash_map_deinit(&map);
}

static void a_walk_meets_every_entry_once(void **state)
{
	struct hash_map map = { 0 };
	uint64_t key, value, sum = 0;
	size_t cursor = 0;
	int met = 0;

	(void)state;
	assert_false(hash_map_next(&map, &cursor, &key, &value));
	for (int i = 0; i < 100; i++)
		hash_map_set(&map, i, i * 2);
	cursor = 0;
	while (hash_map_next(&map, &cursor, &key, &value)) {
		assert_int_equal(value, key * 2);
		sum += key;
		met++;
	}
	assert_int_equal(met, 100);
	assert_int_equal(sum, 4950);
	hash_map_deinit(&map);
}

static void pointers_are_values_too(void **state)
{
	struct hash_map map = { 0 };
	int target;

	(void)state;
	assert_null(hash_map_get_pointer(&map, 8));
	assert_int_equal(hash_map_set_pointer(&map, 8, &target), 0);
	assert_ptr_equal(hash_map_get_pointer(&map, 8), &target);
	hash_map_deinit(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_is_found_and_may_be_replaced),
		cmocka_unit_test(it_agrees_with_an_array_over_many_random_changes),
		cmocka_unit_test(bytes_are_keys_of_their_own),
		cmocka_unit_test(a_walk_meets_every_entry_once),
		cmocka_unit_test(pointers_are_values_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
