/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/big_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "symbols/cache/scratch_file.h"

enum { BYTES = 40 << 20 };

static int opened_count;

static int open_file(int *fd)
{
	opened_count++;
	return scratch_file_open_sparse(BIG_BYTES_MAX, fd);
}

static int open_nothing(int *fd)
{
	(void)fd;
	opened_count++;
	return -ENOSPC;
}

static size_t anonymous_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	size_t kilobytes = 0;
	char line[128];

	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "RssAnon:", 8))
			kilobytes = strtoul(line + 8, NULL, 10);
	fclose(status);
	return kilobytes << 10;
}

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static void fill(struct byte_vector *bytes)
{
	while (bytes->count < BYTES) {
		assert_int_equal(big_bytes_reserve(bytes, bytes->count + 1), 0);
		for (; bytes->count < bytes->capacity && bytes->count < BYTES; bytes->count++)
			bytes->items[bytes->count] = byte_at(bytes->count);
	}
}

static void check(const struct byte_vector *bytes)
{
	for (size_t i = 0; i < BYTES; i++)
		if (bytes->items[i] != byte_at(i))
			assert_int_equal(i, -1);
}

static void what_is_large_lies_in_a_file(void **state)
{
	struct byte_vector bytes = { 0 };
	size_t before_bytes = anonymous_bytes();

	(void)state;
	opened_count = 0;
	big_bytes_use_files(open_file);
	fill(&bytes);
	assert_int_equal(opened_count, 1);
	/* Memory of the sanitizers and of the released heap is less than this. */
	assert_true(anonymous_bytes() < before_bytes + BYTES / 2);
	check(&bytes);
	big_bytes_deinit(&bytes);
	assert_null(bytes.items);
	assert_int_equal(bytes.capacity, 0);
}

static void without_a_file_it_lies_in_memory(void **state)
{
	struct byte_vector bytes = { 0 };

	(void)state;
	opened_count = 0;
	big_bytes_use_files(open_nothing);
	fill(&bytes);
	assert_int_equal(opened_count, 1);
	check(&bytes);
	big_bytes_deinit(&bytes);
}

static void what_is_small_lies_in_the_heap(void **state)
{
	struct byte_vector bytes = { 0 };

	(void)state;
	opened_count = 0;
	big_bytes_use_files(open_file);
	assert_int_equal(big_bytes_reserve(&bytes, 100), 0);
	memset(bytes.items, 1, 100);
	bytes.count = 100;
	assert_int_equal(big_bytes_reserve(&bytes, BIG_BYTES_IN_HEAP_MAX), 0);
	assert_int_equal(opened_count, 0);
	assert_int_equal(big_bytes_reserve(&bytes, BIG_BYTES_IN_HEAP_MAX + 1), 0);
	assert_int_equal(opened_count, 1);
	assert_int_equal(bytes.items[99], 1);
	big_bytes_deinit(&bytes);
}

static void all_together_are_bounded(void **state)
{
	struct byte_vector one = { 0 }, other = { 0 };

	(void)state;
	big_bytes_use_files(open_file);
	assert_int_equal(big_bytes_reserve(&one, BIG_BYTES_MAX + 1), -ENOMEM);
	assert_int_equal(big_bytes_reserve(&one, BIG_BYTES_MAX / 2), 0);
	assert_int_equal(big_bytes_reserve(&other, BIG_BYTES_MAX / 2 + 1), -ENOMEM);
	big_bytes_deinit(&one);
	assert_int_equal(big_bytes_reserve(&other, BIG_BYTES_MAX / 2 + 1), 0);
	big_bytes_deinit(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_large_lies_in_a_file),
		cmocka_unit_test(without_a_file_it_lies_in_memory),
		cmocka_unit_test(what_is_small_lies_in_the_heap),
		cmocka_unit_test(all_together_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
