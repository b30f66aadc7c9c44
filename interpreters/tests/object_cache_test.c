/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/object_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	OBJECT_BYTES = 16,
	/* Room for two objects. */
	CACHE_BYTES = 2 * (OBJECT_BYTES + OBJECT_CACHE_ENTRY_BYTES),
};

struct key {
	uint32_t address;
	uint32_t hash;
};

static void *make(const char *text)
{
	char *object = calloc(1, OBJECT_BYTES);

	assert_non_null(object);
	strncpy(object, text, OBJECT_BYTES - 1);
	return object;
}

static const char *add(struct object_cache *cache, struct key *key, uint32_t hash, const char *text)
{
	return object_cache_add(cache, key, &key->hash, hash, make(text), OBJECT_BYTES);
}

static void an_object_is_found_by_its_address_and_its_hash(void **state)
{
	struct object_cache cache;
	struct key first = { .address = 1 }, second = { .address = 1 },
		   none = { .address = 1, .hash = 9 };

	(void)state;
	object_cache_init(&cache, sizeof(struct key), 8, CACHE_BYTES);
	assert_string_equal(add(&cache, &first, 5, "a"), "a");
	assert_string_equal(add(&cache, &second, 6, "b"), "b");
	assert_int_equal(first.hash, 5);
	assert_string_equal(object_cache_get(&cache, &first), "a");
	assert_string_equal(object_cache_get(&cache, &second), "b");
	assert_null(object_cache_get(&cache, &none));
	object_cache_deinit(&cache);
}

static void an_object_that_is_cached_is_returned_and_the_new_one_is_freed(void **state)
{
	struct object_cache cache;
	struct key key = { .address = 1 }, again = { .address = 1 };
	const char *cached;

	(void)state;
	object_cache_init(&cache, sizeof(struct key), 8, CACHE_BYTES);
	cached = add(&cache, &key, 5, "a");
	assert_ptr_equal(add(&cache, &again, 5, "a"), cached);
	assert_ptr_equal(object_cache_get(&cache, &again), cached);
	object_cache_deinit(&cache);
}

static void another_object_than_that_of_the_key_is_refused(void **state)
{
	struct object_cache cache;
	struct key key = { .address = 1, .hash = 5 };

	(void)state;
	object_cache_init(&cache, sizeof(struct key), 8, CACHE_BYTES);
	assert_null(add(&cache, &key, 6, "b"));
	assert_int_equal(key.hash, 5);
	assert_null(object_cache_get(&cache, &key));
	object_cache_deinit(&cache);
}

static void an_object_without_room_lasts_until_the_next_one(void **state)
{
	struct object_cache cache;
	struct key key = { .address = 1 }, next = { .address = 2 };

	(void)state;
	object_cache_init(&cache, sizeof(struct key), 8, OBJECT_BYTES);
	assert_string_equal(add(&cache, &key, 5, "a"), "a");
	assert_null(object_cache_get(&cache, &key));
	assert_string_equal(add(&cache, &next, 6, "b"), "b");
	assert_string_equal(object_cache_lend(&cache, make("c")), "c");
	object_cache_deinit(&cache);
}

static void a_copy_outlives_the_object(void **state)
{
	struct object_cache cache;
	const struct key key = { .address = 1 };
	char *object = make("a");

	(void)state;
	object_cache_init(&cache, sizeof(struct key), 8, CACHE_BYTES);
	object_cache_add_copy(&cache, &key, object, OBJECT_BYTES);
	object[0] = 'b';
	assert_string_equal(object_cache_get(&cache, &key), "a");
	object_cache_add_copy(&cache, &key, object, OBJECT_BYTES);
	assert_string_equal(object_cache_get(&cache, &key), "b");
	object_cache_deinit(&cache);
	/* There is no room for a copy. */
	object_cache_init(&cache, sizeof(struct key), 8, OBJECT_BYTES);
	object_cache_add_copy(&cache, &key, object, OBJECT_BYTES);
	assert_null(object_cache_get(&cache, &key));
	object_cache_deinit(&cache);
	free(object);
}

static void a_hash_is_never_0(void **state)
{
	(void)state;
	assert_int_equal(object_cache_hash(0), 1);
	assert_int_equal(object_cache_hash(0x700000000ULL), 7);
}

static void a_cache_of_zeros_can_be_freed(void **state)
{
	struct object_cache cache = { 0 };

	(void)state;
	object_cache_deinit(&cache);
	object_cache_deinit(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_is_found_by_its_address_and_its_hash),
		cmocka_unit_test(an_object_that_is_cached_is_returned_and_the_new_one_is_freed),
		cmocka_unit_test(another_object_than_that_of_the_key_is_refused),
		cmocka_unit_test(an_object_without_room_lasts_until_the_next_one),
		cmocka_unit_test(a_copy_outlives_the_object),
		cmocka_unit_test(a_hash_is_never_0),
		cmocka_unit_test(a_cache_of_zeros_can_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
