/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "agent/host/decompress.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_come_out_as_they_went_in),
		cmocka_unit_test(another_size_than_stated_is_refused),
		cmocka_unit_test(longer_output_than_there_is_is_refused),
		cmocka_unit_test(rubbish_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
