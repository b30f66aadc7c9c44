/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/id_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The items are the elements of an array, and their ids its indexes. */
static bool is_equal(const void *context, uint32_t id, const void *key)
{
	const uint64_t *things = context;

	return things[id] == *(const uint64_t *)key;
}

static void add(struct id_index *index, uint64_t hash, uint32_t id)
{
	assert_int_equal(id_index_reserve(index), 0);
	id_index_add(index, hash, id);
}

static void nothing_is_found_in_an_empty_index(void **state)
{
	struct id_index index = { 0 };
	uint64_t key = 1;
	uint32_t id = 7;

	(void)state;
	assert_false(id_index_find(&index, 1, is_equal, &key, &key, &id));
	assert_int_equal(id_index_reserve(&index), 0);
	assert_false(id_index_find(&index, 1, is_equal, &key, &key, &id));
	assert_int_equal(id, 7);
	id_index_deinit(&index);
	id_index_deinit(&index);
}

static void all_are_found_again_while_it_grows(void **state)
{
	enum { COUNT = 5000 };

	static uint64_t things[COUNT];
	struct id_index index = { 0 };
	uint64_t absent = 1;
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		/* Many share the upper half of the hash, and all share the lower half. */
		things[i] = (uint64_t)(i % 1000) << 32 | (uint64_t)i << 1;
		add(&index, things[i] & 0xffffffff00000000, i);
	}
	assert_int_equal(index.count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_true(id_index_find(&index, things[i] & 0xffffffff00000000, is_equal, things,
					  &things[i], &id));
		assert_int_equal(id, i);
		/* The same hash, but another item. */
		assert_false(id_index_find(&index, things[i] & 0xffffffff00000000, is_equal, things,
					   &absent, &id));
	}
	id_index_deinit(&index);
}

static void an_entry_takes_what_it_says(void **state)
{
	struct id_index index = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		add(&index, (uint64_t)i << 32, i);
		if (i > 100)
			assert_true(index.capacity * sizeof(*index.slots) <=
				    (uint64_t)index.count * ID_INDEX_ENTRY_BYTES);
	}
	id_index_deinit(&index);
}

static void the_largest_id_is_found(void **state)
{
	struct id_index index = { 0 };
	/* is_equal() must not be called for an item that is not in the index. */
	uint32_t id = 0;
	uint64_t key = 0;

	(void)state;
	add(&index, UINT64_MAX, UINT32_MAX - 1);
	assert_false(id_index_find(&index, 0, is_equal, NULL, &key, &id));
	assert_int_equal((uint32_t)index.slots[15], UINT32_MAX);
	id_index_deinit(&index);
}

static void what_is_removed_is_gone_and_the_rest_is_found(void **state)
{
	enum { COUNT = 2000, STEPS = 100000 };

	static uint64_t things[COUNT];
	static bool is_there[COUNT];
	struct id_index index = { 0 };
	uint64_t random = 1;
	uint32_t id;

	(void)state;
	/* Few different halves: long runs, some of them around the end of the slots. */
	for (uint32_t i = 0; i < COUNT; i++)
		things[i] = ((uint64_t)(i % 400) - 200) << 32 | i;
	for (int step = 0; step < STEPS; step++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		id = (random >> 33) % COUNT;
		if (is_there[id])
			id_index_remove(&index, things[id], id);
		else
			add(&index, things[id], id);
		is_there[id] = !is_there[id];
	}
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(id_index_find(&index, things[i], is_equal, things, &things[i],
					       &id),
				 is_there[i]);
	for (uint32_t i = 0; i < COUNT; i++)
		if (is_there[i])
			id_index_remove(&index, things[i], i);
	assert_int_equal(index.count, 0);
	id_index_deinit(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_in_an_empty_index),
		cmocka_unit_test(all_are_found_again_while_it_grows),
		cmocka_unit_test(what_is_removed_is_gone_and_the_rest_is_found),
		cmocka_unit_test(an_entry_takes_what_it_says),
		cmocka_unit_test(the_largest_id_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
