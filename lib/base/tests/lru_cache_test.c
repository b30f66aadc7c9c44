/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/lru_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

/* Values are small numbers; how often each was released is counted by it. */
struct released {
	int times[1024];
};

static void note_release(void *context, const void *key, void *value)
{
	struct released *released = context;

	assert_non_null(key);
	released->times[(uintptr_t)value]++;
}

static void *number_value(uintptr_t number)
{
	return (void *)number;
}

static int put(struct lru_cache *cache, uint64_t key, uintptr_t value, size_t bytes)
{
	return lru_cache_put(cache, &key, number_value(value), bytes);
}

static uintptr_t get(struct lru_cache *cache, uint64_t key)
{
	return (uintptr_t)lru_cache_get(cache, &key);
}

static void the_least_recently_used_entry_goes(void **state)
{
	struct released released = { 0 };
	struct lru_cache cache;
	uint64_t key = 1;

	(void)state;
	lru_cache_init(&cache, sizeof(uint64_t), 3, 0, note_release, &released);
	assert_int_equal(get(&cache, 1), 0);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(put(&cache, i, i, 1), 0);
	assert_int_equal(get(&cache, 1), 1);
	/* A peek at 2 does not save it. */
	key = 2;
	assert_ptr_equal(lru_cache_peek(&cache, &key), number_value(2));
	assert_int_equal(put(&cache, 4, 4, 1), 0);
	assert_int_equal(get(&cache, 2), 0);
	assert_int_equal(released.times[2], 1);
	assert_int_equal(get(&cache, 1), 1);
	lru_cache_deinit(&cache);
	for (int i = 1; i <= 4; i++)
		assert_int_equal(released.times[i], 1);
}

static void bytes_are_a_bound_as_well(void **state)
{
	struct released released = { 0 };
	struct lru_cache cache;
	uint64_t key;

	(void)state;
	lru_cache_init(&cache, sizeof(uint64_t), 100, 10, note_release, &released);
	assert_int_equal(put(&cache, 1, 1, 4), 0);
	assert_int_equal(put(&cache, 2, 2, 4), 0);
	assert_int_equal(put(&cache, 3, 3, 11), -E2BIG);
	assert_int_equal(cache.count, 2);
	assert_int_equal(put(&cache, 3, 3, 6), 0);
	assert_int_equal(released.times[1], 1);
	assert_int_equal(cache.bytes, 10);
	/* The same key with a larger value: the other entry is evicted, not this one. */
	assert_int_equal(put(&cache, 2, 4, 10), 0);
	assert_int_equal(released.times[2], 1);
	assert_int_equal(released.times[3], 1);
	assert_int_equal(get(&cache, 2), 4);
	assert_int_equal(cache.bytes, 10);
	/* A value over the limit counts as the whole limit. */
	key = 5;
	assert_int_equal(lru_cache_put_capped(&cache, &key, (void *)5, 11), 0);
	assert_int_equal(released.times[4], 1);
	assert_int_equal(get(&cache, 5), 5);
	assert_int_equal(cache.bytes, 10);
	lru_cache_deinit(&cache);
	/* No bound at all. */
	lru_cache_init(&cache, sizeof(uint64_t), 100, 0, NULL, NULL);
	assert_int_equal(lru_cache_put_capped(&cache, &key, (void *)5, 11), 0);
	assert_int_equal(cache.bytes, 11);
	lru_cache_deinit(&cache);
}

static void entries_are_removed_by_key(void **state)
{
	struct released released = { 0 };
	struct lru_cache cache;
	uint64_t key = 4;

	(void)state;
	lru_cache_init(&cache, sizeof(uint64_t), 100, 0, note_release, &released);
	for (int i = 1; i <= 20; i++)
		put(&cache, i, i, 1);
	assert_true(lru_cache_remove(&cache, &key));
	assert_false(lru_cache_remove(&cache, &key));
	assert_int_equal(released.times[4], 1);
	assert_int_equal(cache.count, 19);
	assert_int_equal(get(&cache, 4), 0);
	assert_int_equal(get(&cache, 5), 5);
	lru_cache_deinit(&cache);
	assert_int_equal(released.times[4], 1);
	assert_int_equal(released.times[20], 1);
}

static void what_was_not_used_between_two_calls_ages_out(void **state)
{
	static struct released released;
	struct lru_cache cache;
	uint64_t key = 6;

	(void)state;
	lru_cache_init(&cache, sizeof(uint64_t), 100, 0, note_release, &released);
	lru_cache_age(&cache);
	for (int i = 1; i <= 6; i++)
		put(&cache, i, i, 1);
	lru_cache_age(&cache);
	assert_int_equal(cache.count, 6);
	/* Uses one entry from the middle and the newest, adds a new one, and removes the newest of the old ones. */
	assert_int_equal(get(&cache, 2), 2);
	assert_int_equal(get(&cache, 5), 5);
	put(&cache, 7, 7, 1);
	assert_true(lru_cache_remove(&cache, &key));
	lru_cache_age(&cache);
	assert_int_equal(cache.count, 3);
	for (int i = 1; i <= 6; i++)
		assert_int_equal(released.times[i], i != 2 && i != 5);
	assert_int_equal(get(&cache, 2), 2);
	assert_int_equal(get(&cache, 5), 5);
	assert_int_equal(get(&cache, 7), 7);
	/* All were used since, the newest last. */
	lru_cache_age(&cache);
	assert_int_equal(cache.count, 3);
	lru_cache_age(&cache);
	assert_int_equal(cache.count, 0);
	lru_cache_age(&cache);
	put(&cache, 8, 8, 1);
	assert_int_equal(get(&cache, 8), 8);
	lru_cache_deinit(&cache);
}

static void an_empty_cache_has_nothing_to_give(void **state)
{
	struct lru_cache cache;
	uint64_t key = 1;

	(void)state;
	lru_cache_init(&cache, sizeof(uint64_t), 1, 0, NULL, NULL);
	assert_false(lru_cache_remove(&cache, &key));
	put(&cache, 1, 1, 0);
	put(&cache, 2, 2, 0);
	assert_int_equal(cache.count, 1);
	lru_cache_deinit(&cache);
	lru_cache_deinit(&cache);
}

/* Every value must be released just once, whatever happens, and an age list beside it must agree. */
static void it_agrees_with_a_list_over_many_random_uses(void **state)
{
	enum { LIMIT = 50 };
	static struct released released;
	struct lru_cache cache;
	/* Keys by age, the oldest first. */
	uint64_t model[LIMIT];
	size_t model_count = 0;
	uint32_t random = 7;

	(void)state;
	lru_cache_init(&cache, sizeof(uint64_t), LIMIT, 0, note_release, &released);
	for (int step = 0; step < 50000; step++) {
		uint64_t key;
		size_t at = 0;

		random = random * 1664525 + 1013904223;
		key = 1 + (random >> 10) % 100;
		while (at < model_count && model[at] != key)
			at++;
		assert_int_equal(get(&cache, key), at < model_count ? key : 0);
		if (at == model_count) {
			assert_int_equal(put(&cache, key, key, 1), 0);
			if (model_count == LIMIT) {
				assert_null(lru_cache_peek(&cache, &model[0]));
				at = 0;
			} else {
				model_count++;
			}
		}
		for (; at + 1 < model_count; at++)
			model[at] = model[at + 1];
		model[model_count - 1] = key;
		assert_int_equal(cache.count, model_count);
	}
	lru_cache_deinit(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_recently_used_entry_goes),
		cmocka_unit_test(bytes_are_a_bound_as_well),
		cmocka_unit_test(entries_are_removed_by_key),
		cmocka_unit_test(what_was_not_used_between_two_calls_ages_out),
		cmocka_unit_test(an_empty_cache_has_nothing_to_give),
		cmocka_unit_test(it_agrees_with_a_list_over_many_random_uses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
