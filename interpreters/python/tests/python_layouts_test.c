/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of offsets of real versions, and forged ones. python_live_test.c tests with real runtimes.
 */
#include "interpreters/python/python_layouts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <string.h>

enum {
	WORDS = PYTHON_DEBUG_OFFSETS_BYTES / 8,
	FREE_THREADED = 2,
	/** Indexes in the table of 3.13. */
	FRAME_OWNER = 33,
	CODE_FILENAME = 35,
	CODE_NAME,
	CODE_QUALIFIED_NAME,
	CODE_LINE_TABLE,
	CODE_FIRST_LINE,
	CODE_INSTRUCTIONS = 43,
	BYTES_SIZE = 65,
	BYTES_DATA,
	STRING_STATE = 68,
	STRING_LENGTH,
	STRING_ASCII_BYTES,
};

static const uint16_t version = PYTHON_VERSION(3, 13);

/* Makes the table of 3.13.0 on x86-64, as far as it is read. */
static void make_table(uint64_t words[WORDS])
{
	static const uint16_t offsets[WORDS] = {
		[5] = 632,
		[8] = 7264,
		[9] = 7344,
		[21] = 8,
		[22] = 16,
		[23] = 72,
		[24] = 152,
		[29] = 8,
		[30] = 0,
		[31] = 56,
		[FRAME_OWNER] = 70,
		[CODE_FILENAME] = 112,
		[CODE_NAME] = 120,
		[CODE_QUALIFIED_NAME] = 128,
		[CODE_LINE_TABLE] = 136,
		[CODE_FIRST_LINE] = 68,
		[CODE_INSTRUCTIONS] = 200,
		[BYTES_SIZE] = 16,
		[BYTES_DATA] = 32,
		[STRING_STATE] = 32,
		[STRING_LENGTH] = 16,
		[STRING_ASCII_BYTES] = 40,
	};

	for (int i = 0; i < WORDS; i++)
		words[i] = offsets[i];
	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030d00f0;
}

static int init(struct python_layout *layout, uint16_t of_version, const uint64_t words[WORDS])
{
	return python_layout_init_offsets(layout, of_version, (const uint8_t *)words);
}

/* Reads the table with one word changed. */
static int init_with(int index, uint64_t value)
{
	struct python_layout layout;
	uint64_t words[WORDS];

	make_table(words);
	words[index] = value;
	return init(&layout, version, words);
}

static void a_table_is_taken_as_it_is(void **state)
{
	struct python_layout layout;
	uint64_t words[WORDS];

	(void)state;
	make_table(words);
	assert_int_equal(init(&layout, version, words), 0);
	assert_int_equal(layout.code.first_line, 68);
	assert_int_equal(layout.code.line_table, 136);
	assert_int_equal(layout.frame.thread_frame, 72);
	assert_int_equal(layout.frame.instruction, 56);
	assert_int_equal(layout.frame.owner, 70);
	assert_int_equal(layout.thread.interpreters, 632);
	assert_int_equal(layout.thread.interpreter_threads, 7344);
	assert_int_equal(layout.string.compact_bytes, 56);
	assert_false(layout.is_free_threaded);
	words[FREE_THREADED] = 1;
	assert_int_equal(init(&layout, version, words), 0);
	assert_true(layout.is_free_threaded);
	assert_int_not_equal(layout.references, 0);
}

static void a_table_of_another_version_is_refused(void **state)
{
	struct python_layout layout;
	uint64_t words[WORDS];

	(void)state;
	make_table(words);
	assert_int_equal(init(&layout, PYTHON_VERSION(3, 14), words), -EBADMSG);
	/* Older versions have no table, newer ones are unknown. */
	assert_int_equal(init(&layout, PYTHON_VERSION(3, 12), words), -EOPNOTSUPP);
	assert_int_equal(init(&layout, PYTHON_NEWEST + 1, words), -EOPNOTSUPP);
	assert_int_equal(init_with(1, 0x030c00f0), -EBADMSG);
	assert_int_equal(init_with(0, 1), -EBADMSG);
	/* The table is not filled in yet. */
	assert_int_equal(init_with(0, 0), -EAGAIN);
}

static void an_offset_beyond_all_objects_is_refused(void **state)
{
	static const uint8_t used[] = { 5,  8,	9,  21, 22, 23, 24, 29, 30, 31, 33,
					35, 36, 37, 38, 39, 43, 65, 66, 68, 69, 70 };

	(void)state;
	for (size_t i = 0; i < sizeof(used); i++) {
		assert_int_equal(init_with(used[i], 16385), -EBADMSG);
		assert_int_equal(init_with(used[i], UINT64_MAX), -EBADMSG);
		/* The lower half is valid. */
		assert_int_equal(init_with(used[i], 1ULL << 32 | 72), -EBADMSG);
	}
}

static void what_is_not_in_the_order_of_all_versions_is_refused(void **state)
{
	static const struct {
		int index;
		uint16_t last_good, first_bad;
	} cases[] = {
		{ CODE_FIRST_LINE, 16, 15 },
		{ CODE_FIRST_LINE, 111, 112 },
		{ CODE_FILENAME, 119, 120 },
		{ CODE_NAME, 127, 128 },
		{ CODE_NAME, 113, 112 },
		{ CODE_QUALIFIED_NAME, 135, 136 },
		{ CODE_QUALIFIED_NAME, 121, 120 },
		{ CODE_LINE_TABLE, 129, 128 },
		{ CODE_LINE_TABLE, 192, 193 },
		{ CODE_INSTRUCTIONS, 144, 143 },
		{ CODE_INSTRUCTIONS, 256, 257 },
		{ STRING_LENGTH, 16, 15 },
		{ STRING_LENGTH, 24, 25 },
		{ STRING_STATE, 24, 23 },
		{ STRING_STATE, 36, 37 },
		{ STRING_ASCII_BYTES, 36, 35 },
		{ STRING_ASCII_BYTES, 64, 65 },
		{ BYTES_SIZE, 16, 15 },
		{ BYTES_SIZE, 24, 25 },
		{ BYTES_DATA, 24, 23 },
		{ BYTES_DATA, 64, 65 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (init_with(cases[i].index, cases[i].last_good) ||
		    init_with(cases[i].index, cases[i].first_bad) != -EBADMSG)
			print_message("case %zu\n", i);
		assert_int_equal(init_with(cases[i].index, cases[i].last_good), 0);
		assert_int_equal(init_with(cases[i].index, cases[i].first_bad), -EBADMSG);
	}
}

static void a_refused_table_leaves_the_layout_alone(void **state)
{
	struct python_layout layout, before;
	uint64_t words[WORDS];

	(void)state;
	memset(&layout, 0x5a, sizeof(layout));
	before = layout;
	make_table(words);
	words[CODE_NAME] = 0;
	assert_int_equal(init(&layout, version, words), -EBADMSG);
	assert_memory_equal(&layout, &before, sizeof(layout));
}

static void versions_that_are_not_known_are_refused(void **state)
{
	static const uint16_t unknown[] = { PYTHON_VERSION(2, 6), PYTHON_VERSION(3, 5),
					    PYTHON_VERSION(3, 16), PYTHON_VERSION(4, 0) };
	struct python_layout layout;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_false(python_version_is_known(unknown[i]));
		assert_int_equal(python_layout_init(&layout, unknown[i], false), -EOPNOTSUPP);
	}
	assert_int_equal(python_layout_init(&layout, PYTHON_VERSION(3, 13), false), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_taken_as_it_is),
		cmocka_unit_test(a_table_of_another_version_is_refused),
		cmocka_unit_test(an_offset_beyond_all_objects_is_refused),
		cmocka_unit_test(what_is_not_in_the_order_of_all_versions_is_refused),
		cmocka_unit_test(a_refused_table_leaves_the_layout_alone),
		cmocka_unit_test(versions_that_are_not_known_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
