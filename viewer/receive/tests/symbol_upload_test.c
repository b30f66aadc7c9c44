/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/receive/symbol_upload.h"

#include "lib/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t build_id[] = { 1, 2, 3 };
static const struct file_id file_id = { { 7, 8, 9 } };

/* The received chunk, by value, and the answer to it. */
struct taker {
	int answer;
	int calls;
	bool has_file_id;
	uint64_t upload_id, size, offset;
	size_t build_id_bytes, count;
};

static int take(void *context, const struct upload_chunk *chunk)
{
	struct taker *taker = context;

	taker->calls++;
	taker->has_file_id = chunk->file_id;
	if (chunk->file_id)
		assert_memory_equal(chunk->file_id, &file_id, sizeof(file_id));
	taker->build_id_bytes = chunk->build_id_bytes;
	if (chunk->build_id_bytes)
		assert_memory_equal(chunk->build_id, build_id, sizeof(build_id));
	taker->upload_id = chunk->upload_id;
	taker->size = chunk->size;
	taker->offset = chunk->offset;
	taker->count = chunk->count;
	for (size_t i = 0; i < chunk->count; i++)
		assert_int_equal(((const char *)chunk->bytes)[i], 'x');
	return taker->answer;
}

/* Encodes and decodes a chunk of @count bytes. */
static int pass(struct upload_chunk chunk, size_t count, struct taker *taker)
{
	uint8_t *bytes = malloc(count + 1);
	size_t request_bytes;
	void *request;
	int err;

	memset(bytes, 'x', count);
	chunk.bytes = bytes;
	chunk.count = count;
	request = symbol_upload_pack(&chunk, &request_bytes);
	assert_non_null(request);
	err = symbol_upload_read(request, request_bytes, take, taker);
	free(request);
	free(bytes);
	return err;
}

static void a_chunk_is_read_as_it_was_packed(void **state)
{
	struct taker taker = { 0 };

	(void)state;
	assert_int_equal(pass((struct upload_chunk){ .upload_id = 1ULL << 63 | 5,
						     .build_id = build_id,
						     .build_id_bytes = sizeof(build_id),
						     .file_id = &file_id,
						     .size = 5000000000,
						     .offset = 4000000000 },
			      SYMBOL_UPLOAD_CHUNK_BYTES, &taker),
			 0);
	assert_int_equal(taker.calls, 1);
	assert_true(taker.upload_id == (1ULL << 63 | 5));
	assert_int_equal(taker.build_id_bytes, sizeof(build_id));
	assert_true(taker.has_file_id);
	assert_int_equal(taker.size, 5000000000);
	assert_int_equal(taker.offset, 4000000000);
	assert_int_equal(taker.count, SYMBOL_UPLOAD_CHUNK_BYTES);
}

static void ids_may_be_absent(void **state)
{
	struct taker taker = { 0 };

	(void)state;
	assert_int_equal(pass((struct upload_chunk){ .upload_id = 1 }, 0, &taker), 0);
	assert_int_equal(taker.calls, 1);
	assert_int_equal(taker.build_id_bytes, 0);
	assert_false(taker.has_file_id);
	assert_int_equal(taker.count, 0);
}

static void what_the_taker_says_is_the_result(void **state)
{
	struct taker taker = { .answer = -EAGAIN };

	(void)state;
	assert_int_equal(pass((struct upload_chunk){ .upload_id = 1 }, 1, &taker), -EAGAIN);
}

static void a_file_id_of_another_length_is_refused(void **state)
{
	/* Field 3 with three bytes. */
	static const uint8_t request[] = { 0x1a, 3, 7, 8, 9 };
	struct taker taker = { 0 };

	(void)state;
	assert_int_equal(symbol_upload_read(request, sizeof(request), take, &taker), -EBADMSG);
	assert_non_null(strstr(error_text(), "16 bytes"));
	assert_int_equal(taker.calls, 0);
}

static void more_than_a_chunk_is_refused(void **state)
{
	struct taker taker = { 0 };

	(void)state;
	assert_int_equal(pass((struct upload_chunk){ .upload_id = 1 },
			      SYMBOL_UPLOAD_CHUNK_BYTES + (64 << 10), &taker),
			 -EBADMSG);
	assert_int_equal(taker.calls, 0);
}

static void what_is_no_request_is_refused(void **state)
{
	static const uint8_t garbage[] = { 0xff, 0xff, 0xff, 0xff, 0xff };
	struct taker taker = { 0 };

	(void)state;
	for (size_t count = 1; count <= sizeof(garbage); count++)
		assert_int_equal(symbol_upload_read(garbage, count, take, &taker), -EBADMSG);
	assert_int_equal(taker.calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chunk_is_read_as_it_was_packed),
		cmocka_unit_test(ids_may_be_absent),
		cmocka_unit_test(what_the_taker_says_is_the_result),
		cmocka_unit_test(a_file_id_of_another_length_is_refused),
		cmocka_unit_test(more_than_a_chunk_is_refused),
		cmocka_unit_test(what_is_no_request_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
