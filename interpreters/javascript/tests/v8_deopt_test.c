/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_deopt.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_tables.h"

enum {
	/** A configuration: entries with a deoptimization index, 1, 2 and 1 bytes for registers, pc and index. */
	CONFIGURATION = 1 | 1 << 1 | 2 << 4 | 1 << 7,
	/** Operations of 13.6. */
	WITH_RETURN = 0,
	WITHOUT_RETURN = 1,
	JS_CONTINUATION = 2,
	CONSTRUCT_CREATE = 4,
	EXTRA_ARGUMENTS = 10,
	BEGIN_13_6 = 14,
	OPTIMIZED_OUT = 37,
	LITERAL = 38,
	UPDATE_FEEDBACK = 43,
	MATCH_PREVIOUS = 44,
	OPERATIONS_13_6 = 45,
	/** Operations of 9.4. */
	BEGIN_9_4 = 3,
	CONSTRUCT_9_4 = 8,
	INTERPRETED_9_4 = 18,
	REGISTER_9_4 = 23,
	/** Operations of 11.3. */
	BEGIN_11_3 = 2,
	INTERPRETED_11_3 = 24,
};

static void begin_safepoints(struct made_table *table, enum v8_line line, bool is_maglev,
			     uint32_t count)
{
	if (line >= V8_13_6)
		made_fixed(table, 12, 4);
	made_fixed(table, count, 4);
	made_fixed(table, line == V8_9_4 ? 3 : CONFIGURATION, 4);
	if (is_maglev)
		made_fixed(table, 5, 4);
	if (is_maglev && line < V8_13_6)
		made_fixed(table, 6, 4);
}

/* Adds an entry; a @deopt_index or @trampoline of -1 means none. */
static void add_safepoint(struct made_table *table, enum v8_line line, bool is_maglev, uint32_t pc,
			  int32_t deopt_index, int32_t trampoline)
{
	if (line == V8_9_4) {
		made_fixed(table, pc, 4);
		made_fixed(table, (uint32_t)deopt_index, 4);
		made_fixed(table, (uint32_t)trampoline, 4);
		return;
	}
	made_fixed(table, pc, 2);
	made_fixed(table, (uint32_t)deopt_index + 1, 1);
	made_fixed(table, (uint32_t)trampoline + 1, 2);
	/* Registers, and for Maglev spills. */
	made_fixed(table, 0xff, 1);
	if (is_maglev)
		made_byte(table, 1);
}

static void a_call_has_its_entry_in_all_versions(void **state)
{
	static const struct {
		enum v8_line line;
		bool is_maglev;
	} cases[] = { { V8_9_4, false },  { V8_10_2, false }, { V8_11_3, false },
		      { V8_12_4, false }, { V8_12_4, true },  { V8_13_6, false },
		      { V8_13_6, true },  { V8_14_1, true },  { V8_14_6, false },
		      { V8_14_6, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const enum v8_line line = cases[i].line;
		const bool is_maglev = cases[i].is_maglev;
		struct v8_safepoint safepoint = { 0 };
		struct made_table table = { 0 };

		begin_safepoints(&table, line, is_maglev, 3);
		add_safepoint(&table, line, is_maglev, 20, 0, 900);
		add_safepoint(&table, line, is_maglev, 300, -1, -1);
		add_safepoint(&table, line, is_maglev, 410, 7, 910);
		assert_int_equal(v8_safepoint_find(line, is_maglev, table.bytes, table.size, 20,
						   &safepoint),
				 0);
		assert_int_equal(safepoint.deopt_index, 0);
		assert_int_equal(v8_safepoint_find(line, is_maglev, table.bytes, table.size, 300,
						   &safepoint),
				 0);
		assert_int_equal(safepoint.deopt_index, -1);
		/* The deoptimizer has replaced the return address by the trampoline. */
		assert_int_equal(v8_safepoint_find(line, is_maglev, table.bytes, table.size, 910,
						   &safepoint),
				 0);
		assert_int_equal(safepoint.pc_offset, 410);
		assert_int_equal(safepoint.deopt_index, 7);
		assert_int_equal(v8_safepoint_find(line, is_maglev, table.bytes, table.size, 301,
						   &safepoint),
				 -ENOENT);
		/* The table is cut, so that entries are missing. */
		assert_int_equal(v8_safepoint_find(line, is_maglev, table.bytes, table.size - 3,
						   411, &safepoint),
				 -EBADMSG);
		assert_int_equal(v8_safepoint_find(line, is_maglev, table.bytes, 3, 411,
						   &safepoint),
				 -EBADMSG);
	}
}

static void numbers_too_wide_or_without_a_byte_are_refused(void **state)
{
	struct made_table table = { 0 };
	struct v8_safepoint safepoint;

	(void)state;
	made_fixed(&table, UINT32_MAX, 4);
	made_fixed(&table, 0, 4);
	assert_int_equal(v8_safepoint_find(V8_11_3, false, table.bytes, table.size, 1, &safepoint),
			 -EBADMSG);
	table = (struct made_table){ 0 };
	made_fixed(&table, 1, 4);
	made_fixed(&table, 1 | 5 << 4, 4);
	made_fixed(&table, 0, 4);
	made_fixed(&table, 0, 4);
	assert_int_equal(v8_safepoint_find(V8_11_3, false, table.bytes, table.size, 0, &safepoint),
			 -EBADMSG);
}

static void a_return_address_is_a_number_with_a_sign(void **state)
{
	struct made_table table = { 0 };
	struct v8_safepoint safepoint;

	(void)state;
	begin_safepoints(&table, V8_9_4, false, 1);
	add_safepoint(&table, V8_9_4, false, 1U << 31, 0, 5);
	assert_int_equal(v8_safepoint_find(V8_9_4, false, table.bytes, table.size, 5, &safepoint),
			 -ENOENT);
}

static void begin_13_6(struct made_table *table, uint32_t back, int32_t frames)
{
	made_byte(table, BEGIN_13_6);
	made_number(table, back);
	made_signed(table, frames);
	made_signed(table, frames);
}

/* Adds the frame of a function that receives a return value. */
static void add_function(struct made_table *table, int32_t offset, int32_t literal,
			 int32_t bytecodes)
{
	made_byte(table, WITH_RETURN);
	made_signed(table, offset);
	made_signed(table, literal);
	made_signed(table, bytecodes);
	made_number(table, 3);
	made_signed(table, 0);
	made_signed(table, 1);
}

static void frames_are_read_past_their_values(void **state)
{
	struct v8_translated_frames frames;
	struct made_table table = { 0 };

	(void)state;
	/* The translation does not start at the beginning of the bytes. */
	made_byte(&table, LITERAL);
	made_signed(&table, 1);
	begin_13_6(&table, 0, 4);
	made_byte(&table, UPDATE_FEEDBACK);
	made_signed(&table, 1);
	made_signed(&table, 2);
	add_function(&table, 40, 5, 0);
	made_byte(&table, LITERAL);
	made_signed(&table, 300);
	made_byte(&table, OPTIMIZED_OUT);
	made_byte(&table, CONSTRUCT_CREATE);
	made_signed(&table, 6);
	made_number(&table, 2);
	made_byte(&table, WITHOUT_RETURN);
	made_signed(&table, 70);
	made_signed(&table, 6);
	made_signed(&table, 1);
	made_number(&table, 3);
	made_byte(&table, JS_CONTINUATION);
	made_signed(&table, 1000);
	made_signed(&table, 7);
	made_number(&table, 3);
	assert_int_equal(v8_translation_read(V8_13_6, table.bytes, table.size, 2, &frames), 0);
	assert_int_equal(frames.count, 3);
	assert_int_equal(frames.items[0].bytecode_offset, 40);
	assert_int_equal(frames.items[0].literal, 5);
	assert_int_equal(frames.items[0].bytecodes, 0);
	assert_false(frames.items[0].is_construct);
	assert_int_equal(frames.items[1].bytecode_offset, 70);
	assert_int_equal(frames.items[1].bytecodes, 1);
	assert_true(frames.items[1].is_construct);
	assert_true(frames.items[2].is_builtin);
	assert_false(frames.items[2].is_construct);
	assert_int_equal(frames.items[2].literal, 7);
	/* Indexes at which no translation begins. */
	assert_int_equal(v8_translation_read(V8_13_6, table.bytes, table.size, 3, &frames),
			 -EBADMSG);
	assert_int_equal(v8_translation_read(V8_13_6, table.bytes, table.size, table.size, &frames),
			 -EBADMSG);
	/* The translation is cut. */
	assert_int_equal(v8_translation_read(V8_13_6, table.bytes, table.size - 2, 2, &frames),
			 -EBADMSG);
}

static void a_translation_may_continue_in_another_one(void **state)
{
	for (int is_short = 0; is_short < 2; is_short++) {
		struct v8_translated_frames frames;
		struct made_table table = { 0 };
		size_t second;

		(void)state;
		begin_13_6(&table, 0, 2);
		add_function(&table, 10, 1, 0);
		made_byte(&table, LITERAL);
		made_signed(&table, 9);
		add_function(&table, 20, 2, 1);
		second = table.size;
		/* The first frame differs, two operations come from the previous translation, the rest is its own. */
		begin_13_6(&table, (uint32_t)second, 3);
		add_function(&table, 15, 1, 0);
		if (is_short) {
			made_byte(&table, OPERATIONS_13_6 + 2);
		} else {
			made_byte(&table, MATCH_PREVIOUS);
			made_number(&table, 2);
		}
		add_function(&table, 30, 3, 2);
		assert_int_equal(
			v8_translation_read(V8_13_6, table.bytes, table.size, second, &frames), 0);
		assert_int_equal(frames.count, 3);
		assert_int_equal(frames.items[0].bytecode_offset, 15);
		assert_int_equal(frames.items[1].bytecode_offset, 20);
		assert_int_equal(frames.items[1].literal, 2);
		assert_int_equal(frames.items[2].bytecode_offset, 30);
		/* The translation is based on one before the first byte. */
		table.bytes[second + 1]++;
		assert_int_equal(v8_translation_read(V8_13_6, table.bytes, table.size, second,
						     &frames),
				 -EBADMSG);
	}
}

static void older_versions_have_other_operations(void **state)
{
	struct v8_translated_frames frames;
	struct made_table table = { 0 };

	(void)state;
	/* All numbers are signed, opcodes too. */
	made_signed(&table, BEGIN_9_4);
	made_signed(&table, 3);
	made_signed(&table, 2);
	made_signed(&table, 0);
	for (int i = 0; i < 2; i++) {
		made_signed(&table, INTERPRETED_9_4);
		made_signed(&table, 100 + i);
		made_signed(&table, i);
		made_signed(&table, 4);
		made_signed(&table, 0);
		made_signed(&table, 1);
		made_signed(&table, REGISTER_9_4);
		made_signed(&table, 2);
		if (!i) {
			made_signed(&table, CONSTRUCT_9_4);
			made_signed(&table, 0);
			made_signed(&table, 1);
			made_signed(&table, 0);
		}
	}
	assert_int_equal(v8_translation_read(V8_9_4, table.bytes, table.size, 0, &frames), 0);
	assert_int_equal(frames.count, 2);
	assert_int_equal(frames.items[1].bytecode_offset, 101);
	assert_int_equal(frames.items[1].bytecodes, -1);
	assert_true(frames.items[1].is_construct);

	table = (struct made_table){ 0 };
	made_byte(&table, BEGIN_11_3);
	made_number(&table, 0);
	made_signed(&table, 1);
	made_signed(&table, 1);
	made_byte(&table, INTERPRETED_11_3);
	made_signed(&table, 7);
	made_signed(&table, 3);
	made_signed(&table, 4);
	assert_int_equal(v8_translation_read(V8_11_3, table.bytes, table.size, 0, &frames), 0);
	assert_int_equal(frames.items[0].bytecode_offset, 7);
	assert_int_equal(frames.items[0].literal, 3);
}

static void frames_without_an_end_are_refused(void **state)
{
	static uint8_t bytes[2048];
	struct v8_translated_frames frames;
	struct made_table table = { 0 };

	(void)state;
	begin_13_6(&table, 0, 1000);
	memcpy(bytes, table.bytes, table.size);
	/* All other bytes are 0, which are frames of functions. */
	assert_int_equal(v8_translation_read(V8_13_6, bytes, sizeof(bytes), 0, &frames), -E2BIG);
	table = (struct made_table){ 0 };
	begin_13_6(&table, 0, -1);
	assert_int_equal(v8_translation_read(V8_13_6, table.bytes, table.size, 0, &frames),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_its_entry_in_all_versions),
		cmocka_unit_test(numbers_too_wide_or_without_a_byte_are_refused),
		cmocka_unit_test(a_return_address_is_a_number_with_a_sign),
		cmocka_unit_test(frames_are_read_past_their_values),
		cmocka_unit_test(a_translation_may_continue_in_another_one),
		cmocka_unit_test(older_versions_have_other_operations),
		cmocka_unit_test(frames_without_an_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
