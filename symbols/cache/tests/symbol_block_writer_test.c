/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "symbols/cache/big_bytes.h"
#include "symbols/cache/symbol_block_writer.h"

/* Blocks with their index. */
struct made {
	struct byte_vector collected;
	struct symbol_block_writer writer;
	struct offset_vector index;
	struct symbol_blocks blocks;
};

static uint32_t collect(struct made *made, struct symbol_scope scope)
{
	uint32_t number;

	assert_int_equal(scope_bytes_add(&made->collected, &scope, &number), 0);
	made->writer.collected = &made->collected;
	return number;
}

static void add(struct made *made, struct symbol_row row)
{
	made->writer.collected = &made->collected;
	assert_int_equal(symbol_block_writer_add(&made->writer, &row), 0);
}

static void finish(struct made *made)
{
	struct symbol_block_writer *writer = &made->writer;

	assert_int_equal(symbol_block_writer_finish(writer), 0);
	assert_int_equal(address_index_build(&writer->addresses, &made->index), 0);
	made->blocks = (struct symbol_blocks){
		.base = writer->base,
		.bytes = writer->blocks.items,
		.count = writer->blocks.count / SYMBOL_BLOCK_BYTES,
	};
	assert_int_equal(made->blocks.count, writer->addresses.count);
	address_index_init(&made->blocks.index, made->index.items, made->blocks.count);
}

static void deinit(struct made *made)
{
	symbol_block_writer_deinit(&made->writer);
	big_bytes_deinit(&made->collected);
	offset_vector_deinit(&made->index);
}

/*
 * Asserts that the chain at @address is the collected chain of @number, with the outermost named
 * @symbol unless it is 0.
 */
static void expect_chain(const struct made *made, const struct symbol_block_row *row,
			 uint32_t number, uint32_t symbol)
{
	const struct byte_vector *far_bytes = &made->writer.far;
	uint32_t local = row->scope, far = 0;

	while (number) {
		struct symbol_scope expected, scope;

		assert_true(scope_bytes_read(made->collected.items, made->collected.count, number,
					     &expected));
		if (!far) {
			assert_true(symbol_block_scope(row, local, &scope, &far));
			local = scope.outer;
		}
		if (far) {
			assert_true(
				scope_bytes_read(far_bytes->items, far_bytes->count, far, &scope));
			far = scope.outer;
			local = 0;
		}
		if (!expected.outer && symbol)
			expected.name = symbol;
		assert_int_equal(scope.name, expected.name);
		assert_int_equal(!scope.outer, !expected.outer);
		assert_int_equal(scope.call_file, expected.call_file);
		assert_int_equal(scope.call_line, expected.call_line);
		if (expected.outer || !symbol)
			assert_int_equal(scope.start_line, expected.start_line);
		number = expected.outer;
	}
	assert_int_equal(local, 0);
	assert_int_equal(far, 0);
}

/*
 * Inlining trees up to @depth_max deep, with numbers of all widths. Each row must be found from its
 * first address to its last.
 */
static void check_random(uint32_t depth_max, uint32_t gap_max, uint32_t number_bits)
{
	enum { SCOPES = 3000, ROWS = 6000 };
	static uint32_t numbers[SCOPES], depths[SCOPES];
	static struct symbol_row rows[ROWS];
	struct symbol_block_row row;
	struct made made = { 0 };
	uint64_t address = 0x400000;

	for (uint32_t i = 0; i < SCOPES; i++) {
		uint32_t outer = i && rand() % 50 ? i - 1 - rand() % (i < 3 ? i : 3) : i;
		bool is_inlined = outer != i && depths[outer] < depth_max;
		struct symbol_scope scope = { .name = 1 + (uint32_t)rand() % (1 << 29),
					      .outer = is_inlined ? numbers[outer] : 0,
					      .start_line = (uint32_t)rand() >>
							    (31 - number_bits) };

		if (is_inlined) {
			scope.call_file = rand() % 40;
			scope.call_line = (uint32_t)rand() >> (31 - number_bits);
		}
		depths[i] = is_inlined ? depths[outer] + 1 : 1;
		numbers[i] = collect(&made, scope);
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		rows[i] = (struct symbol_row){
			.address = address,
			.scope.id = rand() % 10 ? numbers[i / 2] : 0,
			.scope.symbol = rand() % 4 ? 0 : 1 + rand() % 1000,
			.line = { rand() % 30, (uint32_t)rand() >> (31 - number_bits) },
		};
		add(&made, rows[i]);
		address += 1 + (uint32_t)rand() % gap_max;
	}
	finish(&made);
	assert_false(symbol_blocks_find(&made.blocks, rows[0].address - 1, &row));
	for (uint32_t i = 0; i < 2 * ROWS; i++) {
		const struct symbol_row *expected = &rows[i / 2];
		uint64_t last = i / 2 + 1 < ROWS ? expected[1].address - 1 : address + 1000;

		assert_true(
			symbol_blocks_find(&made.blocks, i % 2 ? last : expected->address, &row));
		assert_int_equal(row.file, expected->line.first);
		assert_int_equal(row.line, expected->line.second);
		assert_int_equal(!row.scope, !expected->scope.id && !expected->scope.symbol);
		if (expected->scope.id)
			expect_chain(&made, &row, expected->scope.id, expected->scope.symbol);
	}
	deinit(&made);
}

static void what_was_put_in_is_found(void **state)
{
	(void)state;
	srand(1);
	check_random(1, 10, 8);
	check_random(3, 20, 16);
	check_random(8, 3000, 24);
	check_random(SYMBOL_BLOCK_DEPTH, 20, 31);
	check_random(SYMBOL_BLOCK_DEPTH + 1, 20, 12);
}

static void deep_inlining_goes_on_outside_of_the_block(void **state)
{
	(void)state;
	srand(2);
	check_random(300, 20, 14);
	check_random(60, 600000, 31);
}

static void each_far_scope_is_put_once(void **state)
{
	enum { DEPTH = 200 };
	struct made made = { 0 };
	uint32_t number = 0;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++)
		number = collect(&made, (struct symbol_scope){ .outer = number, .name = i + 1 });
	for (uint32_t i = 0; i < 1000; i++)
		add(&made,
		    (struct symbol_row){ .address = i, .scope.id = number, .line = { 1 + i, i } });
	finish(&made);
	assert_true(made.blocks.count > 5);
	assert_int_equal(made.writer.far_scopes.count, DEPTH - SYMBOL_BLOCK_DEPTH);
	deinit(&made);
}

static void more_than_4_gib_are_refused(void **state)
{
	struct made made = { 0 };

	(void)state;
	add(&made, (struct symbol_row){ .address = 0x1000, .line = { 1, 1 } });
	add(&made, (struct symbol_row){ .address = 0x1000ULL + UINT32_MAX, .line = { 1, 2 } });
	assert_int_equal(symbol_block_writer_add(
				 &made.writer, &(struct symbol_row){ .address = 0x100000fffULL + 1,
								     .line = { 1, 3 } }),
			 -E2BIG);
	deinit(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_in_is_found),
		cmocka_unit_test(deep_inlining_goes_on_outside_of_the_block),
		cmocka_unit_test(each_far_scope_is_put_once),
		cmocka_unit_test(more_than_4_gib_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
