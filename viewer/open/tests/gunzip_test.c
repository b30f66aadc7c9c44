/* SPDX-License-Identifier: Apache-2.0 */
/* Members, limits and damaged input; zlib makes the bytes. */
#include "viewer/open/gunzip.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/base/error.h"

#include <cmocka.h>

enum {
	MAX_BYTES = 4 << 20,
	PACKED_BYTES = 1 << 16,
};

/* Appends a gzip member of @count zeros at @packed; returns its size. */
static size_t pack_zeros(unsigned char *packed, size_t count)
{
	z_stream stream = { .next_out = packed, .avail_out = PACKED_BYTES };
	unsigned char *zeros = calloc(1, count);

	stream.next_in = zeros;
	stream.avail_in = (unsigned int)count;
	assert_int_equal(
		deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	free(zeros);
	return stream.total_out;
}

static void all_members_are_unpacked_up_to_the_limit(void **state)
{
	static unsigned char packed[2 * PACKED_BYTES];
	size_t bytes = pack_zeros(packed, MAX_BYTES / 2), count;
	char *content;

	(void)state;
	assert_true(is_gzip((char *)packed, bytes));
	bytes += pack_zeros(packed + bytes, MAX_BYTES / 2);
	assert_int_equal(gunzip((char *)packed, bytes, MAX_BYTES, &content, &count), 0);
	assert_int_equal(count, MAX_BYTES);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(content[i], 0);
	free(content);
}

/* The second input has two members, neither of which is too large by itself. */
static void bombs_are_refused(void **state)
{
	static unsigned char packed[2 * PACKED_BYTES];
	size_t bytes = pack_zeros(packed, 16 * MAX_BYTES), count;
	char *content;

	(void)state;
	assert_int_equal(gunzip((char *)packed, bytes, MAX_BYTES, &content, &count), -EBADMSG);
	assert_string_equal(error_text(), "unpacked it has more than 4 MiB");
	bytes = pack_zeros(packed, MAX_BYTES);
	bytes += pack_zeros(packed + bytes, 1);
	assert_int_equal(gunzip((char *)packed, bytes, MAX_BYTES, &content, &count), -EBADMSG);
	assert_string_equal(error_text(), "unpacked it has more than 4 MiB");
}

static void what_is_cut_is_refused(void **state)
{
	static unsigned char packed[PACKED_BYTES];
	size_t bytes = pack_zeros(packed, 1000), count;
	char *content;

	(void)state;
	for (size_t cut = 0; cut < bytes; cut++)
		assert_int_equal(gunzip((char *)packed, cut, MAX_BYTES, &content, &count),
				 -EBADMSG);
	assert_false(is_gzip((char *)packed, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_members_are_unpacked_up_to_the_limit),
		cmocka_unit_test(bombs_are_refused),
		cmocka_unit_test(what_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
