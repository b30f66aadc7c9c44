/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbols/cache/symbol_block.h"

/* The block ends where the memory ends, so that reading past it is detected. */
static uint8_t *new_block(const void *bytes, size_t size)
{
	uint8_t *block = calloc(1, SYMBOL_BLOCK_BYTES);

	assert_non_null(block);
	memcpy(block, bytes, size);
	return block;
}

static bool find(const uint8_t *block, uint64_t address, struct symbol_block_row *row)
{
	static const uint8_t numbers[ADDRESS_INDEX_FANOUT * sizeof(uint32_t)];
	struct symbol_blocks blocks = { .base = 0x1000, .bytes = block, .count = 1 };

	address_index_init(&blocks.index, numbers, 1);
	return symbol_blocks_find(&blocks, address, row);
}

/* The example of symbol_block.h: two rows, the second of a call. */
static void a_block_is_as_its_header_says(void **state)
{
	static const uint8_t bytes[] = { 2,    2,    1,	   1 << 1 | 2 << 4,
					 0x10, 0x00, 1,	   2,
					 0,    1,    30,   40,
					 9,    0,    0,	   0, /* A file. */
					 7,    0,    0,	   0,
					 0,    0,    0x21, 0x43, /* A function. */
					 0,    0,    8,	   0,
					 0,    0,    1,	   1,
					 0x65, 0,    0x34, 0x12 /* A call in it. */ };
	uint8_t *block = new_block(bytes, sizeof(bytes));
	struct symbol_block_row row;
	struct symbol_scope scope;
	uint32_t far;

	(void)state;
	assert_false(find(block, 0xfff, &row));
	assert_true(find(block, 0x100f, &row));
	assert_int_equal(row.file, 0);
	assert_int_equal(row.line, 30);
	assert_int_equal(row.scope, 1);
	assert_true(find(block, 0x1010, &row));
	assert_int_equal(row.file, 9);
	assert_int_equal(row.line, 40);
	assert_int_equal(row.scope, 2);
	assert_true(symbol_block_scope(&row, 2, &scope, &far));
	assert_int_equal(scope.name, 8);
	assert_int_equal(scope.outer, 1);
	assert_int_equal(scope.call_file, 9);
	assert_int_equal(scope.call_line, 0x1234);
	assert_int_equal(scope.start_line, 0x65);
	assert_int_equal(far, 0);
	assert_true(symbol_block_scope(&row, 1, &scope, &far));
	assert_int_equal(scope.name, 7);
	assert_int_equal(scope.outer, 0);
	assert_int_equal(scope.start_line, 0x4321);
	assert_false(symbol_block_scope(&row, 0, &scope, &far));
	assert_false(symbol_block_scope(&row, 3, &scope, &far));
	free(block);
}

static void a_scope_does_not_lie_in_itself(void **state)
{
	static const uint8_t bytes[] = { 1, 1, 0, 0, 1, 7, 0, 0, 0, 1, 0 };
	uint8_t *block = new_block(bytes, sizeof(bytes));
	struct symbol_block_row row;
	struct symbol_scope scope;
	uint32_t far;

	(void)state;
	assert_true(find(block, 0x1000, &row));
	assert_int_equal(row.scope, 1);
	assert_false(symbol_block_scope(&row, 1, &scope, &far));
	block[9] = 0;
	assert_true(symbol_block_scope(&row, 1, &scope, &far));
	free(block);
}

static void counts_that_do_not_fit_are_no_block(void **state)
{
	struct symbol_block_row row;
	uint8_t *block = new_block("", 1);

	(void)state;
	assert_false(find(block, 0x1000, &row));
	block[0] = 1;
	assert_true(find(block, 0x1000, &row));
	/* Widths of 5. */
	block[3] = 5 << 1;
	assert_false(find(block, 0x1000, &row));
	block[3] = 5 << 4;
	assert_false(find(block, 0x1000, &row));
	block[3] = 0;
	block[2] = 125;
	assert_true(find(block, 0x1000, &row));
	block[2] = 126;
	assert_false(find(block, 0x1000, &row));
	free(block);
}

/*
 * For all numbers that a block with room for them can have, the last one is read inside the block,
 * even if it has no bytes.
 */
static void numbers_without_bytes_end_a_block(void **state)
{
	uint8_t *block = new_block("", 1);
	uint32_t found = 0;

	(void)state;
	for (uint32_t i = 0; i < SYMBOL_BLOCK_ROWS_MAX * 256 * 128; i++) {
		struct symbol_block_row row;
		struct symbol_scope scope;
		uint32_t far;

		block[0] = 1 + i % SYMBOL_BLOCK_ROWS_MAX;
		block[1] = i / SYMBOL_BLOCK_ROWS_MAX % 256;
		block[2] = i / SYMBOL_BLOCK_ROWS_MAX / 256;
		if (!find(block, UINT32_MAX, &row))
			continue;
		found++;
		if (block[1])
			assert_true(symbol_block_scope(&row, block[1], &scope, &far));
	}
	assert_true(found > 10000);
	free(block);
}

static void random_blocks_are_read_within_their_bytes(void **state)
{
	uint8_t *block = new_block("", 1);

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct symbol_block_row row;

		for (int k = 0; k < SYMBOL_BLOCK_BYTES; k++)
			block[k] = rand();
		for (int k = 0; k < 4; k++)
			block[k] &= rand() & rand() & (k == 3 ? 0x7f : 0xff);
		for (int k = 0; k < 20; k++) {
			struct symbol_scope scope = { 0 };
			uint32_t far = 0, scopes = 0;

			if (!find(block, 0x1000 + (uint32_t)rand() % (k < 10 ? 1 << 17 : 1 << 30),
				  &row))
				break;
			scope.outer = row.scope;
			while (symbol_block_scope(&row, scope.outer, &scope, &far))
				assert_true(++scopes < 256);
		}
	}
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_as_its_header_says),
		cmocka_unit_test(a_scope_does_not_lie_in_itself),
		cmocka_unit_test(counts_that_do_not_fit_are_no_block),
		cmocka_unit_test(numbers_without_bytes_end_a_block),
		cmocka_unit_test(random_blocks_are_read_within_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
