/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded pointers in every format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stackdeltas/eh_pointer.h"

enum { READER = 0x1000, DATA = 0x500000, SKIPPED = 3 };

static const uint8_t bytes[] = { 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0 };

/* Reads from the fourth byte. */
static uint64_t read_pointer(uint8_t encoding, size_t *used)
{
	struct byte_reader reader;
	uint64_t pointer;

	byte_reader_init(&reader, bytes, sizeof(bytes));
	byte_reader_skip(&reader, SKIPPED);
	pointer = eh_pointer_read(&reader, encoding, READER, DATA);
	*used = byte_reader_failed(&reader) ? 0 : byte_reader_offset(&reader) - SKIPPED;
	return pointer;
}

static void every_format_and_base_is_read(void **state)
{
	static const struct {
		uint8_t encoding;
		uint64_t pointer;
		size_t used;
	} cases[] = {
		{ EH_POINTER_ABSOLUTE, 0x7ffffffffeULL, 8 },
		{ EH_POINTER_UDATA8, 0x7ffffffffeULL, 8 },
		{ EH_POINTER_SDATA8, 0x7ffffffffeULL, 8 },
		{ EH_POINTER_UDATA4, 0xfffffffeULL, 4 },
		{ EH_POINTER_SDATA4, -2ULL, 4 },
		{ EH_POINTER_UDATA2, 0xfffe, 2 },
		{ EH_POINTER_SDATA2, -2ULL, 2 },
		{ EH_POINTER_ULEB128, 0x7fffffffeULL, 5 },
		{ EH_POINTER_SLEB128, -2ULL, 5 },
		{ EH_POINTER_PC_RELATIVE | EH_POINTER_SDATA4, READER + SKIPPED - 2, 4 },
		{ EH_POINTER_PC_RELATIVE | EH_POINTER_SDATA2, READER + SKIPPED - 2, 2 },
		{ EH_POINTER_DATA_RELATIVE | EH_POINTER_SDATA4, DATA - 2, 4 },
		{ EH_POINTER_TEXT_RELATIVE | EH_POINTER_UDATA2, 0xfffe, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t used;

		assert_true(eh_pointer_is_known(cases[i].encoding));
		assert_int_equal(read_pointer(cases[i].encoding, &used), cases[i].pointer);
		assert_int_equal(used, cases[i].used);
	}
}

static void what_is_refused_fails_the_reader(void **state)
{
	static const uint8_t encodings[] = {
		EH_POINTER_INDIRECT | EH_POINTER_PC_RELATIVE | EH_POINTER_SDATA4,
		EH_POINTER_OMITTED,
		0x40,
		0x50,
		0x05,
		0x08,
		0x0d,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(encodings); i++) {
		size_t used;

		assert_false(eh_pointer_is_known(encodings[i]));
		assert_int_equal(read_pointer(encodings[i], &used), 0);
		assert_int_equal(used, 0);
	}
}

static void a_pointer_that_is_cut_fails_the_reader(void **state)
{
	struct byte_reader reader;

	(void)state;
	byte_reader_init(&reader, bytes, 3);
	eh_pointer_read(&reader, EH_POINTER_PC_RELATIVE | EH_POINTER_SDATA4, READER, DATA);
	assert_true(byte_reader_failed(&reader));
	byte_reader_init(&reader, bytes, 7);
	assert_int_equal(eh_pointer_read(&reader, EH_POINTER_DATA_RELATIVE, READER, DATA), 0);
	assert_true(byte_reader_failed(&reader));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_and_base_is_read),
		cmocka_unit_test(what_is_refused_fails_the_reader),
		cmocka_unit_test(a_pointer_that_is_cut_fails_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
