/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/host/decompress.h"

enum { PLAIN_BYTES = 300000 };

static uint8_t plain[PLAIN_BYTES], packed[PLAIN_BYTES + 4096], output[PLAIN_BYTES];

static size_t pack(enum compression compression)
{
	uLongf size = sizeof(packed);

	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = i * i >> 7;
	memset(output, 0, sizeof(output));
	if (compression == COMPRESSION_ZSTD)
		return ZSTD_compress(packed, sizeof(packed), plain, sizeof(plain), 3);
	assert_int_equal(compress(packed, &size, plain, sizeof(plain)), Z_OK);
	return size;
}

static void both_kinds_come_out_as_they_went_in(void **state)
{
	(void)state;
	for (int kind = COMPRESSION_ZLIB; kind <= COMPRESSION_ZSTD; kind++) {
		size_t size = pack(kind);

		assert_int_equal(decompress(kind, packed, size, output, sizeof(output)), 0);
		assert_memory_equal(output, plain, sizeof(plain));
	}
}

static void another_size_than_stated_is_refused(void **state)
{
	(void)state;
	for (int kind = COMPRESSION_ZLIB; kind <= COMPRESSION_ZSTD; kind++) {
		size_t size = pack(kind);
		uint8_t *exact = malloc(1000);

		/* ASan watches the end of the smaller buffer. */
		assert_int_equal(decompress(kind, packed, size, exact, 1000), -EBADMSG);
		assert_int_equal(decompress(kind, packed, size, exact, 0), -EBADMSG);
		assert_int_equal(decompress(kind, packed, size - 100, output, sizeof(output)),
				 -EBADMSG);
		assert_int_equal(decompress(kind, packed, 0, output, sizeof(output)), -EBADMSG);
		free(exact);
	}
}

static void longer_output_than_there_is_is_refused(void **state)
{
	static uint8_t larger[PLAIN_BYTES + 1];

	(void)state;
	for (int kind = COMPRESSION_ZLIB; kind <= COMPRESSION_ZSTD; kind++) {
		size_t size = pack(kind);

		assert_int_equal(decompress(kind, packed, size, larger, sizeof(larger)), -EBADMSG);
	}
}

static void rubbish_is_refused(void **state)
{
	(void)state;
	memset(packed, 0x5a, sizeof(packed));
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, 5000, output, 100), -EBADMSG);
	assert_int_equal(decompress(COMPRESSION_ZSTD, packed, 5000, output, 100), -EBADMSG);
	assert_int_equal(decompress(7, packed, 5000, output, 100), -EOPNOTSUPP);
}

/* Removes parts of any length, and changes bits of the head, the middle and the checksum. */
static void zlib_data_that_are_cut_or_damaged_are_refused(void **state)
{
	const size_t size = pack(COMPRESSION_ZLIB);
	const size_t offsets[] = { 0, 1, size / 2, size - 4, size - 1 };

	(void)state;
	for (size_t left = 0; left < size; left += left < 64 || left > size - 64 ? 1 : 61)
		assert_int_equal(decompress(COMPRESSION_ZLIB, packed, left, output, sizeof(output)),
				 -EBADMSG);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		packed[offsets[i]] ^= 0x20;
		assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, sizeof(output)),
				 -EBADMSG);
		packed[offsets[i]] ^= 0x20;
	}
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, sizeof(output)), 0);
}

static void zlib_data_of_one_byte_more_or_less_than_stated_are_refused(void **state)
{
	static uint8_t larger[PLAIN_BYTES + 1];
	size_t size = pack(COMPRESSION_ZLIB);

	(void)state;
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, sizeof(output) - 1),
			 -EBADMSG);
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, larger, sizeof(larger)),
			 -EBADMSG);
}

/* A section may be padded behind the data. */
static void what_stands_behind_zlib_data_does_not_count(void **state)
{
	size_t size = pack(COMPRESSION_ZLIB);

	(void)state;
	memset(packed + size, 0xff, 100);
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size + 100, output, sizeof(output)),
			 0);
	assert_memory_equal(output, plain, sizeof(plain));
}

/* A stream of one byte behind blocks that are empty. */
static size_t pack_behind_empty_blocks(size_t count)
{
	static const uint8_t empty[] = { 0, 0, 0, 0xff, 0xff };
	static const uint8_t head[] = { 0x78, 0x9c };
	static const uint8_t last[] = { 1, 1, 0, 0xfe, 0xff, 'x', 0, 'y', 0, 'y' };
	uint8_t *end = packed;

	assert_true(sizeof(head) + count * sizeof(empty) + sizeof(last) <= sizeof(packed));
	end = mempcpy(end, head, sizeof(head));
	while (count--)
		end = mempcpy(end, empty, sizeof(empty));
	end = mempcpy(end, last, sizeof(last));
	return end - packed;
}

static void zlib_data_that_say_nothing_for_long_are_refused(void **state)
{
	size_t size = pack_behind_empty_blocks(12000);

	(void)state;
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, 1), 0);
	assert_int_equal(output[0], 'x');
	size = pack_behind_empty_blocks(14000);
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, 1), -EBADMSG);
}

static void *allocate_nothing(size_t size)
{
	(void)size;
	return NULL;
}

static void without_memory_nothing_comes_out(void **state)
{
	size_t size = pack(COMPRESSION_ZLIB);

	(void)state;
	libdeflate_set_memory_allocator(allocate_nothing, free);
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, sizeof(output)),
			 -ENOMEM);
	libdeflate_set_memory_allocator(malloc, free);
	assert_int_equal(decompress(COMPRESSION_ZLIB, packed, size, output, sizeof(output)), 0);
}

/* A .xz stream of the plain bytes, with the given preset of xz. */
static size_t pack_xz(uint32_t preset)
{
	size_t size = 0;

	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = i * i >> 7;
	assert_int_equal(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, plain,
						 sizeof(plain), packed, &size, sizeof(packed)),
			 LZMA_OK);
	return size;
}

static void xz_streams_of_every_preset_come_out_as_they_went_in(void **state)
{
	(void)state;
	for (uint32_t preset = 0; preset <= 9; preset += 3) {
		size_t size = pack_xz(preset), bytes;
		void *result;

		assert_int_equal(decompress_xz(packed, size, sizeof(plain), &result, &bytes), 0);
		assert_int_equal(bytes, sizeof(plain));
		assert_memory_equal(result, plain, bytes);
		free(result);
	}
}

static void xz_data_that_are_large_damaged_or_cut_are_refused(void **state)
{
	size_t size = pack_xz(6), bytes;
	void *result;

	(void)state;
	assert_int_equal(decompress_xz(packed, size, sizeof(plain) - 1, &result, &bytes), -E2BIG);
	assert_int_equal(decompress_xz(packed, size - 1, 1 << 20, &result, &bytes), -EBADMSG);
	assert_int_equal(decompress_xz(packed, 0, 1 << 20, &result, &bytes), -EBADMSG);
	packed[size / 2] ^= 1;
	assert_int_equal(decompress_xz(packed, size, 1 << 20, &result, &bytes), -EBADMSG);
	assert_int_equal(decompress_xz("no xz at all", 12, 1 << 20, &result, &bytes), -EBADMSG);
}

/* A few KiB that unfold to megabytes, and a dictionary larger than any preset has. */
static void xz_bombs_cost_no_more_than_the_limit(void **state)
{
	static uint8_t zeroes[1 << 20];
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
	size_t size = 0, bytes;
	void *result;

	(void)state;
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, zeroes, sizeof(zeroes),
						 packed, &size, sizeof(packed)),
			 LZMA_OK);
	/* The streams are taken together. */
	for (int i = 0; i < 4; i++)
		memcpy(packed + (i + 1) * size, packed, size);
	assert_int_equal(decompress_xz(packed, 5 * size, 4 << 20, &result, &bytes), -E2BIG);
	assert_int_equal(decompress_xz(packed, 4 * size, 4 << 20, &result, &bytes), 0);
	free(result);
	assert_false(lzma_lzma_preset(&options, 6));
	options.dict_size = 80 << 20;
	size = 0;
	assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, zeroes, 4096,
						   packed, &size, sizeof(packed)),
			 LZMA_OK);
	assert_int_equal(decompress_xz(packed, size, 4 << 20, &result, &bytes), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_come_out_as_they_went_in),
		cmocka_unit_test(another_size_than_stated_is_refused),
		cmocka_unit_test(longer_output_than_there_is_is_refused),
		cmocka_unit_test(rubbish_is_refused),
		cmocka_unit_test(zlib_data_that_are_cut_or_damaged_are_refused),
		cmocka_unit_test(zlib_data_of_one_byte_more_or_less_than_stated_are_refused),
		cmocka_unit_test(what_stands_behind_zlib_data_does_not_count),
		cmocka_unit_test(zlib_data_that_say_nothing_for_long_are_refused),
		cmocka_unit_test(without_memory_nothing_comes_out),
		cmocka_unit_test(xz_streams_of_every_preset_come_out_as_they_went_in),
		cmocka_unit_test(xz_data_that_are_large_damaged_or_cut_are_refused),
		cmocka_unit_test(xz_bombs_cost_no_more_than_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
