/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/compressed_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * Encodes a number as the JVM does: while the rest is too large for a byte that ends a number, it writes one of the
 * 64 highest bytes, with the low 6 bits of the rest. @excluded: 0 up to Java 19, then 1.
 * (CompressedWriteStream::write_int_mb() of 17, UNSIGNED5::write_uint() of 21.)
 */
static size_t encode(uint32_t value, uint32_t excluded, uint8_t bytes[5])
{
	uint32_t low = 256 - 64 - excluded, rest = value;
	size_t count = 0;

	while (rest >= low && count < 4) {
		rest -= low;
		bytes[count++] = (uint8_t)(excluded + low + (rest & 63));
		rest >>= 6;
	}
	bytes[count++] = (uint8_t)(rest + excluded);
	return count;
}

static void check_number(uint32_t value)
{
	for (uint32_t version = 19; version <= 20; version++) {
		uint8_t bytes[5];
		struct compressed_stream stream = { .bytes = bytes, .version = version };

		stream.size = encode(value, version - 19, bytes);
		assert_int_equal(compressed_stream_unsigned(&stream), value);
		assert_false(stream.is_at_end);
		assert_int_equal(stream.offset, stream.size);
	}
}

static void numbers_of_all_lengths_are_read(void **state)
{
	(void)state;
	for (uint32_t value = 0; value < 100000; value++)
		check_number(value);
	for (int bit = 0; bit < 32; bit++)
		for (uint32_t near = 0; near < 3; near++)
			check_number((1U << bit) - 1 + near);
	check_number(UINT32_MAX);
}

/* From comments in the sources: the first number of two bytes is 192 up to 19, and 191 from 20 on. */
static void single_numbers_are_as_written_down(void **state)
{
	static const uint8_t bytes[] = { 0xbf, 0xc0, 0x00, 0xc0, 0x01 };
	struct compressed_stream old = { bytes, sizeof(bytes), 0, 17, false };
	struct compressed_stream new = { bytes, sizeof(bytes), 0, 21, false };

	(void)state;
	assert_int_equal(compressed_stream_unsigned(&old), 191);
	assert_int_equal(compressed_stream_unsigned(&old), 192);
	assert_int_equal(compressed_stream_unsigned(&old), 256);
	assert_int_equal(compressed_stream_unsigned(&new), 190);
	/* No number has a byte of 0. */
	assert_int_equal(compressed_stream_unsigned(&new), 0);
	assert_true(new.is_at_end);
}

static void signs_are_in_the_lowest_bit(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 2, 3, 4 };
	struct compressed_stream stream = { bytes, sizeof(bytes), 0, 8, false };

	(void)state;
	assert_int_equal(compressed_stream_signed(&stream), 0);
	assert_int_equal(compressed_stream_signed(&stream), -1);
	assert_int_equal(compressed_stream_signed(&stream), 1);
	assert_int_equal(compressed_stream_signed(&stream), -2);
	assert_int_equal(compressed_stream_signed(&stream), 2);
	assert_false(stream.is_at_end);
	assert_int_equal(compressed_stream_signed(&stream), 0);
	assert_true(stream.is_at_end);
}

static void a_number_that_is_cut_off_is_none(void **state)
{
	static const uint8_t bytes[] = { 0xff, 0xff };
	struct compressed_stream stream = { bytes, sizeof(bytes), 0, 8, false };

	(void)state;
	assert_int_equal(compressed_stream_unsigned(&stream), 0);
	assert_true(stream.is_at_end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_all_lengths_are_read),
		cmocka_unit_test(single_numbers_are_as_written_down),
		cmocka_unit_test(signs_are_in_the_lowest_bit),
		cmocka_unit_test(a_number_that_is_cut_off_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
