/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_positions.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_tables.h"

enum {
	/** Bytecodes of 11.3 with operands: none, one, three. */
	PLAIN = 4,
	ONE_OPERAND = 5,
	THREE_OPERANDS = 7,
	WIDE = 0,
	EXTRA_WIDE = 1,
};

static void assert_position(enum v8_line line, const struct made_table *table, int32_t code_offset,
			    int32_t script_offset, int32_t inlining_id)
{
	struct v8_position position;

	assert_int_equal(v8_positions_find(line, table->bytes, table->size, code_offset, &position),
			 0);
	assert_int_equal(position.script_offset, script_offset);
	assert_int_equal(position.inlining_id, inlining_id);
}

static void both_encodings_give_the_last_entry_before(void **state)
{
	static const enum v8_line lines[] = { V8_9_4, V8_13_6, V8_14_1, V8_14_6 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct made_table table = { 0 };
		struct v8_position position;

		/* The last entry is after the one before in the code, but not in the source. */
		made_position(&table, lines[i], 0, 100, -1, true);
		made_position(&table, lines[i], 7, 5000, 3, false);
		made_position(&table, lines[i], 200, 12, 0, true);
		assert_position(lines[i], &table, 0, 100, -1);
		assert_position(lines[i], &table, 6, 100, -1);
		assert_position(lines[i], &table, 7, 5000, 3);
		assert_position(lines[i], &table, 199, 5000, 3);
		assert_position(lines[i], &table, 200, 12, 0);
		assert_position(lines[i], &table, INT32_MAX, 12, 0);
		assert_int_equal(v8_positions_find(lines[i], table.bytes, table.size, -1,
						   &position),
				 -ENOENT);
	}
}

static void a_table_may_begin_with_the_function_itself(void **state)
{
	struct made_table table = { 0 };

	(void)state;
	made_position(&table, V8_11_3, -1, 40, -1, false);
	made_position(&table, V8_11_3, 3, 50, -1, true);
	assert_position(V8_11_3, &table, -1, 40, -1);
	assert_position(V8_11_3, &table, 2, 40, -1);
}

static void a_position_in_the_source_of_v8_is_none(void **state)
{
	struct v8_position position = v8_position_decode(1 | 30 << 1);

	(void)state;
	assert_int_equal(position.script_offset, -1);
	/* An unknown offset is not the first character. */
	position = v8_position_decode(0);
	assert_int_equal(position.script_offset, -1);
	assert_int_equal(position.inlining_id, -1);
	position = v8_position_decode(1 << 1);
	assert_int_equal(position.script_offset, 0);
}

static void damaged_tables_are_refused(void **state)
{
	static const uint8_t endless[] = { 0x80, 0x80, 0x80 }, half[] = { 2 };
	static const uint8_t far[] = { 0xfe, 0xff, 0xff, 0xff, 0x0f, 0,
				       0xfe, 0xff, 0xff, 0xff, 0x0f, 0 };
	struct v8_position position;

	(void)state;
	assert_int_equal(v8_positions_find(V8_11_3, endless, 3, 5, &position), -EBADMSG);
	assert_int_equal(v8_positions_find(V8_11_3, half, 1, 5, &position), -EBADMSG);
	assert_int_equal(v8_positions_find(V8_11_3, far, sizeof(far), INT32_MAX, &position),
			 -EBADMSG);
	assert_int_equal(v8_positions_find(V8_11_3, NULL, 0, 5, &position), -ENOENT);
}

/* Bytecodes at 0, 2, 6 and 14. Instructions up to 10 belong to none; those of the bytecodes end at 13, 18, 200, 202. */
static const uint8_t bytecodes[] = {
	ONE_OPERAND, 7, WIDE, ONE_OPERAND, 1, 1, EXTRA_WIDE, THREE_OPERANDS, 1, 1, 1, 1, 1,
	1,	     1, 1,    1,	   1, 1, 1,	     PLAIN
};

static void make_baseline_table(struct made_table *table)
{
	made_number(table, 10);
	made_number(table, 3);
	made_number(table, 5);
	made_number(table, 182);
	made_number(table, 2);
}

static int32_t baseline_offset(uint32_t pc_offset, bool is_return_address)
{
	struct made_table table = { 0 };
	int32_t offset = -2;

	make_baseline_table(&table);
	assert_int_equal(v8_baseline_offset(V8_11_3, table.bytes, table.size, bytecodes,
					    sizeof(bytecodes), pc_offset, is_return_address,
					    &offset),
			 0);
	return offset;
}

static void instructions_of_sparkplug_are_of_a_bytecode(void **state)
{
	(void)state;
	assert_int_equal(baseline_offset(0, false), -1);
	assert_int_equal(baseline_offset(9, false), -1);
	assert_int_equal(baseline_offset(10, false), 0);
	assert_int_equal(baseline_offset(12, false), 0);
	assert_int_equal(baseline_offset(13, false), 2);
	assert_int_equal(baseline_offset(18, false), 6);
	assert_int_equal(baseline_offset(199, false), 6);
	assert_int_equal(baseline_offset(200, false), 20);
	/* A call that is the last instruction of a bytecode returns to the first one of the next bytecode. */
	assert_int_equal(baseline_offset(10, true), -1);
	assert_int_equal(baseline_offset(13, true), 0);
	assert_int_equal(baseline_offset(14, true), 2);
	assert_int_equal(baseline_offset(202, true), 20);
}

static void a_table_of_other_bytecodes_is_refused(void **state)
{
	struct made_table table = { 0 };
	int32_t offset;

	(void)state;
	make_baseline_table(&table);
	/* A pc after the last instruction. */
	assert_int_equal(v8_baseline_offset(V8_11_3, table.bytes, table.size, bytecodes,
					    sizeof(bytecodes), 203, true, &offset),
			 -EBADMSG);
	/* One bytecode less, and half of one. */
	assert_int_equal(v8_baseline_offset(V8_11_3, table.bytes, table.size, bytecodes,
					    sizeof(bytecodes) - 1, 12, true, &offset),
			 -EBADMSG);
	assert_int_equal(v8_baseline_offset(V8_11_3, table.bytes, table.size, bytecodes,
					    sizeof(bytecodes) - 2, 12, true, &offset),
			 -EBADMSG);
	/* One entry less. */
	assert_int_equal(v8_baseline_offset(V8_11_3, table.bytes, table.size - 1, bytecodes,
					    sizeof(bytecodes), 12, true, &offset),
			 -EBADMSG);
	assert_int_equal(v8_baseline_offset(V8_11_3, table.bytes, 0, bytecodes, 0, 0, true,
					    &offset),
			 -EBADMSG);
}

static void numbers_that_are_no_bytecodes_are_refused(void **state)
{
	static const uint8_t none[] = { 250 }, prefix[] = { WIDE };
	struct made_table table = { 0 };
	int32_t offset;

	(void)state;
	made_number(&table, 10);
	made_number(&table, 3);
	assert_int_equal(v8_baseline_offset(V8_14_6, table.bytes, table.size, none, 1, 5, true,
					    &offset),
			 -EBADMSG);
	assert_int_equal(v8_baseline_offset(V8_14_6, table.bytes, table.size, prefix, 1, 5, true,
					    &offset),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_encodings_give_the_last_entry_before),
		cmocka_unit_test(a_table_may_begin_with_the_function_itself),
		cmocka_unit_test(a_position_in_the_source_of_v8_is_none),
		cmocka_unit_test(damaged_tables_are_refused),
		cmocka_unit_test(instructions_of_sparkplug_are_of_a_bytecode),
		cmocka_unit_test(a_table_of_other_bytecodes_is_refused),
		cmocka_unit_test(numbers_that_are_no_bytecodes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
