/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/byte_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"

static uint32_t keep(struct byte_pool *pool, const void *bytes, size_t count)
{
	uint64_t hash = hash64_bytes(bytes, count);
	uint32_t number;

	if (byte_pool_find(pool, bytes, count, hash, &number))
		return number;
	assert_int_equal(byte_pool_reserve(pool, count), 0);
	return byte_pool_add(pool, bytes, count, hash);
}

static void equal_strings_have_one_number_and_one_address(void **state)
{
	struct byte_pool pool = { 0 };
	const char *first;

	(void)state;
	assert_int_equal(keep(&pool, "one", 4), 0);
	assert_int_equal(keep(&pool, "two", 4), 1);
	first = byte_pool_at(&pool, 0);
	/* A string with a NUL inside, and a prefix of another one. */
	assert_int_equal(keep(&pool, "one\0x", 6), 2);
	assert_int_equal(keep(&pool, "on", 2), 3);
	assert_int_equal(keep(&pool, "one", 4), 0);
	assert_string_equal(first, "one");
	assert_memory_equal(byte_pool_at(&pool, 2), "one\0x", 6);
	byte_pool_deinit(&pool);
}

static void strings_of_one_hash_stay_apart(void **state)
{
	static const char *const strings[] = { "one", "on", "two" };
	struct byte_pool pool = { 0 };
	uint32_t number;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(byte_pool_find(&pool, strings[i], strlen(strings[i]), 7, &number));
		assert_int_equal(byte_pool_reserve(&pool, strlen(strings[i])), 0);
		assert_int_equal(byte_pool_add(&pool, strings[i], strlen(strings[i]), 7), i);
	}
	assert_true(byte_pool_find(&pool, "on", 2, 7, &number));
	assert_int_equal(number, 1);
	byte_pool_deinit(&pool);
}

static void many_strings_stay_where_they_are(void **state)
{
	enum { COUNT = 30000 };

	struct byte_pool pool = { 0 };
	const void **addresses = calloc(COUNT, sizeof(*addresses));

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++) {
		assert_int_equal(keep(&pool, &i, sizeof(i)), i);
		addresses[i] = byte_pool_at(&pool, i);
		assert_int_equal((uintptr_t)addresses[i] % 8, 0);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		assert_ptr_equal(byte_pool_at(&pool, keep(&pool, &i, sizeof(i))), addresses[i]);
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(*(const uint64_t *)addresses[i], i);
	byte_pool_deinit(&pool);
	free(addresses);
}

static void a_string_longer_than_a_chunk_has_one_of_its_own(void **state)
{
	struct byte_pool pool = { 0 };
	char *text = malloc(2 * CHUNK_BYTES);

	(void)state;
	memset(text, 'x', 2 * CHUNK_BYTES);
	assert_int_equal(keep(&pool, text, 2 * CHUNK_BYTES), 0);
	assert_int_equal(keep(&pool, "y", 1), 1);
	assert_memory_equal(byte_pool_at(&pool, 0), text, 2 * CHUNK_BYTES);
	byte_pool_deinit(&pool);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_have_one_number_and_one_address),
		cmocka_unit_test(strings_of_one_hash_stay_apart),
		cmocka_unit_test(many_strings_stay_where_they_are),
		cmocka_unit_test(a_string_longer_than_a_chunk_has_one_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
