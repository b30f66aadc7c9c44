/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/gunzip.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

enum { MAX_BYTES = 1 << 20 };

/* @count bytes of 'a', compressed, followed by @more bytes. */
static struct span compress_letters(size_t count, size_t more)
{
	static uint8_t packed[1 << 20];
	uint8_t *letters = malloc(count + 1);
	z_stream stream = { 0 };

	memset(letters, 'a', count);
	deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
	stream.next_in = letters;
	stream.avail_in = count;
	stream.next_out = packed;
	stream.avail_out = sizeof(packed);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	free(letters);
	return (struct span){ packed, stream.total_out + more };
}

static void what_was_compressed_comes_back(void **state)
{
	static const size_t counts[] = { 0, 1, 65535, 65536, 65537, MAX_BYTES };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint8_t *bytes = NULL;
		size_t count = 1;

		assert_int_equal(gunzip(compress_letters(counts[i], 0), MAX_BYTES, &bytes, &count),
				 0);
		assert_int_equal(count, counts[i]);
		if (count)
			assert_int_equal(bytes[count - 1], 'a');
		free(bytes);
	}
}

static void what_is_too_large_is_counted_only(void **state)
{
	uint8_t *bytes = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(gunzip(compress_letters(MAX_BYTES + 1, 0), MAX_BYTES, &bytes, &count),
			 -E2BIG);
	assert_int_equal(count, MAX_BYTES + 1);
	assert_int_equal(gunzip(compress_letters(GUNZIP_COUNT_MAX_BYTES * 2UL, 0), MAX_BYTES,
				&bytes, &count),
			 -E2BIG);
	assert_in_range(count, GUNZIP_COUNT_MAX_BYTES, GUNZIP_COUNT_MAX_BYTES + 65536);
	assert_null(bytes);
}

static void what_is_no_gzip_is_refused(void **state)
{
	struct span packed = compress_letters(1000, 0);
	uint8_t *bytes = NULL;
	size_t count;

	(void)state;
	packed.count--;
	assert_int_equal(gunzip(packed, MAX_BYTES, &bytes, &count), -EBADMSG);
	assert_int_equal(gunzip(compress_letters(1000, 1), MAX_BYTES, &bytes, &count), -EBADMSG);
	assert_int_equal(gunzip((struct span){ (const uint8_t *)"plain text", 10 }, MAX_BYTES,
				&bytes, &count),
			 -EBADMSG);
	assert_int_equal(gunzip((struct span){ NULL, 0 }, MAX_BYTES, &bytes, &count), -EBADMSG);
	assert_null(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_compressed_comes_back),
		cmocka_unit_test(what_is_too_large_is_counted_only),
		cmocka_unit_test(what_is_no_gzip_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
