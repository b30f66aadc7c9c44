/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/hash128.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
static void the_wide_hash_is_xxh3_and_the_same_everywhere(void **state)
{
	struct hash128 empty = hash128_bytes("", 0);

	(void)state;
	/* The published value of XXH3_128bits() for no input. */
	assert_true(empty.high == 0x99aa06d3014798d8ULL);
	assert_true(empty.low == 0x6001c324468d497fULL);
}

static void a_changed_bit_changes_both_hashes(void **state)
{
	unsigned char bytes[64] = { 0 };
	struct hash128 wide = hash128_bytes(bytes, sizeof(bytes));
	uint64_t narrow = hash64_bytes(bytes, sizeof(bytes));

	(void)state;
	assert_true(hash128_equal(wide, hash128_bytes(bytes, sizeof(bytes))));
	assert_true(narrow == hash64_bytes(bytes, sizeof(bytes)));
	bytes[63] = 1;
	assert_false(hash128_equal(wide, hash128_bytes(bytes, sizeof(bytes))));
	assert_false(narrow == hash64_bytes(bytes, sizeof(bytes)));
}

static void contents_are_hashed_by_a_seed(void **state)
{
	static const unsigned char bytes[1000] = { 0 };
	struct hash128 first, second;

	(void)state;
	assert_false(hash128_equal(hash128_content(bytes, 1000), hash128_bytes(bytes, 1000)));
	hash128_seed_content(1);
	first = hash128_content(bytes, 1000);
	hash128_seed_content(2);
	second = hash128_content(bytes, 1000);
	assert_false(hash128_equal(first, second));
	hash128_seed_content(1);
	assert_true(hash128_equal(first, hash128_content(bytes, 1000)));
	assert_true(hash128_draw_seed() != hash128_draw_seed());
}

static void the_narrow_hash_is_seeded(void **state)
{
	(void)state;
	/* The published value of XXH3_64bits() for no input: what seed 0 gives. */
	assert_false(hash64_bytes("", 0) == 0x2d06800538d394c2ULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wide_hash_is_xxh3_and_the_same_everywhere),
		cmocka_unit_test(a_changed_bit_changes_both_hashes),
		cmocka_unit_test(contents_are_hashed_by_a_seed),
		cmocka_unit_test(the_narrow_hash_is_seeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
