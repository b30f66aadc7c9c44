/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/byte_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
static struct byte_reader reader_over(const void *bytes, size_t count)
{
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, count);
	return reader;
}

#define READER(...)                                                                                \
	reader_over((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void numbers_are_little_endian_and_may_stand_unaligned(void **state)
{
	struct byte_reader reader = READER(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

	(void)state;
	assert_int_equal(byte_reader_u8(&reader), 1);
	assert_int_equal(byte_reader_u16(&reader), 0x0302);
	assert_int_equal(byte_reader_u32(&reader), 0x07060504);
	assert_true(byte_reader_u64(&reader) == 0x0f0e0d0c0b0a0908);
	assert_int_equal(byte_reader_left(&reader), 0);
	assert_int_equal(byte_reader_offset(&reader), 15);
	assert_false(byte_reader_failed(&reader));
}

static void a_read_that_does_not_fit_fails_for_good(void **state)
{
	struct byte_reader reader = READER(1, 2, 3);

	(void)state;
	assert_int_equal(byte_reader_u32(&reader), 0);
	assert_true(byte_reader_failed(&reader));
	assert_int_equal(byte_reader_u8(&reader), 0);
	assert_int_equal(byte_reader_u16(&reader), 0);
	assert_int_equal(byte_reader_uleb128(&reader), 0);
	assert_null(byte_reader_string(&reader));
	assert_null(byte_reader_bytes(&reader, 0));
	byte_reader_seek(&reader, 0);
	assert_int_equal(byte_reader_u8(&reader), 0);
	assert_int_equal(byte_reader_left(&reader), 0);
}

static void huge_counts_do_not_wrap(void **state)
{
	struct byte_reader reader = READER(1, 2, 3);

	(void)state;
	byte_reader_skip(&reader, 1);
	assert_null(byte_reader_bytes(&reader, SIZE_MAX));
	assert_true(byte_reader_failed(&reader));
	reader = READER(1, 2, 3);
	byte_reader_seek(&reader, SIZE_MAX);
	assert_true(byte_reader_failed(&reader));
}

static void unsigned_leb128_reads_as_dwarf_has_it(void **state)
{
	/* DWARF 5, figure C.1 and the largest number. */
	struct byte_reader reader = READER(2, 127, 0x80, 1, 0x81, 1, 0xb9, 0x64, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x80, 0x80, 0);

	(void)state;
	assert_int_equal(byte_reader_uleb128(&reader), 2);
	assert_int_equal(byte_reader_uleb128(&reader), 127);
	assert_int_equal(byte_reader_uleb128(&reader), 128);
	assert_int_equal(byte_reader_uleb128(&reader), 129);
	assert_int_equal(byte_reader_uleb128(&reader), 12857);
	assert_true(byte_reader_uleb128(&reader) == UINT64_MAX);
	assert_int_equal(byte_reader_uleb128(&reader), 0);
	assert_int_equal(byte_reader_left(&reader), 0);
	assert_false(byte_reader_failed(&reader));
}

static void signed_leb128_reads_as_dwarf_has_it(void **state)
{
	/* DWARF 5, figure C.2 and the smallest number. */
	struct byte_reader reader = READER(2, 0x7e, 0xff, 0, 0x81, 0x7f, 0x80, 1, 0x80, 0x7f, 0x80,
					   0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f,
					   0x40, 0x3f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					   0x80, 0x40);

	(void)state;
	assert_int_equal(byte_reader_sleb128(&reader), 2);
	assert_int_equal(byte_reader_sleb128(&reader), -2);
	assert_int_equal(byte_reader_sleb128(&reader), 127);
	assert_int_equal(byte_reader_sleb128(&reader), -127);
	assert_int_equal(byte_reader_sleb128(&reader), 128);
	assert_int_equal(byte_reader_sleb128(&reader), -128);
	assert_true(byte_reader_sleb128(&reader) == INT64_MIN);
	assert_int_equal(byte_reader_sleb128(&reader), -64);
	assert_int_equal(byte_reader_sleb128(&reader), 63);
	assert_true(byte_reader_sleb128(&reader) == -(1LL << 62));
	assert_false(byte_reader_failed(&reader));
}

static void endless_leb128_fails(void **state)
{
	uint8_t bytes[100];
	struct byte_reader reader;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0x80;
	reader = reader_over(bytes, sizeof(bytes));
	assert_int_equal(byte_reader_uleb128(&reader), 0);
	assert_true(byte_reader_failed(&reader));
	reader = reader_over(bytes, 3);
	assert_int_equal(byte_reader_sleb128(&reader), 0);
	assert_true(byte_reader_failed(&reader));
}

static void strings_must_end_inside(void **state)
{
	struct byte_reader reader = READER('a', 'b', 0, 0, 'c');

	(void)state;
	assert_string_equal(byte_reader_string(&reader), "ab");
	assert_string_equal(byte_reader_string(&reader), "");
	assert_null(byte_reader_string(&reader));
	assert_true(byte_reader_failed(&reader));
}

static void a_reader_can_seek_and_be_failed_by_hand(void **state)
{
	struct byte_reader reader = READER(1, 2, 3, 4);

	(void)state;
	byte_reader_seek(&reader, 3);
	assert_int_equal(byte_reader_u8(&reader), 4);
	byte_reader_seek(&reader, 4);
	assert_false(byte_reader_failed(&reader));
	byte_reader_seek(&reader, 0);
	assert_int_equal(byte_reader_u8(&reader), 1);
	byte_reader_fail(&reader);
	assert_int_equal(byte_reader_left(&reader), 0);
}

static void no_bytes_at_all_are_fine(void **state)
{
	struct byte_reader reader = reader_over(NULL, 0);

	(void)state;
	byte_reader_seek(&reader, 0);
	byte_reader_bytes(&reader, 0);
	assert_false(byte_reader_failed(&reader));
	assert_null(byte_reader_string(&reader));
	assert_true(byte_reader_failed(&reader));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_little_endian_and_may_stand_unaligned),
		cmocka_unit_test(a_read_that_does_not_fit_fails_for_good),
		cmocka_unit_test(huge_counts_do_not_wrap),
		cmocka_unit_test(unsigned_leb128_reads_as_dwarf_has_it),
		cmocka_unit_test(signed_leb128_reads_as_dwarf_has_it),
		cmocka_unit_test(endless_leb128_fails),
		cmocka_unit_test(strings_must_end_inside),
		cmocka_unit_test(a_reader_can_seek_and_be_failed_by_hand),
		cmocka_unit_test(no_bytes_at_all_are_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
