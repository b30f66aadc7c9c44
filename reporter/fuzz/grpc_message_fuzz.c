/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of gRPC in any number of parts, plain, packed and damaged. A message that is not damaged comes out as it went
 * in; nothing comes out that is over the limit.
 *
 * covers: grpc_message.c
 */
#include "reporter/grpc_message.h"

#include <assert.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/base/fuzz/edit_bytes.h"

enum {
	PARTS_MAX = 8,
	MAX_BYTES = 1 << 20,
	PACKED_MAX_BYTES = 1 << 17,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The message of @bytes, cut into parts of @part_bytes, the last of which has the rest. */
static grpc_byte_buffer *make(const uint8_t *bytes, size_t count, size_t part_bytes, bool is_packed)
{
	grpc_byte_buffer *buffer;
	grpc_slice parts[PARTS_MAX];
	size_t part_count = 0;

	do {
		size_t now = part_count == PARTS_MAX - 1 || part_bytes > count ? count : part_bytes;

		parts[part_count++] = grpc_slice_from_copied_buffer((const char *)bytes, now);
		bytes += now;
		count -= now;
	} while (count);
	buffer = is_packed ? grpc_raw_compressed_byte_buffer_create(parts, part_count,
								    GRPC_COMPRESS_GZIP) :
			     grpc_raw_byte_buffer_create(parts, part_count);
	for (size_t i = 0; i < part_count; i++)
		grpc_slice_unref(parts[i]);
	return buffer;
}

/* Compares what comes out with @expected, unless that is NULL. */
static void read_message(grpc_byte_buffer *buffer, size_t max_bytes, const uint8_t *expected,
			 size_t expected_count)
{
	size_t count;
	char *bytes;
	int err = grpc_message_read(buffer, max_bytes, &bytes, &count);

	/* A message that is packed may not be larger than the limit either. */
	assert(!expected || !err == (expected_count <= max_bytes &&
				     grpc_byte_buffer_length(buffer) <= max_bytes));
	if (err)
		return;
	assert(count <= max_bytes);
	assert(!expected || (count == expected_count && !memcmp(bytes, expected, count)));
	/* There is room for it. */
	bytes[count] = '\0';
	free(bytes);
}

static void make_and_read(const uint8_t *bytes, size_t count, size_t part_bytes, bool is_packed,
			  const uint8_t *expected, size_t expected_count)
{
	grpc_byte_buffer *buffer = make(bytes, count, part_bytes, is_packed);

	read_message(buffer, MAX_BYTES, expected, expected_count);
	read_message(buffer, expected_count / 2, expected, expected_count);
	grpc_byte_buffer_destroy(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_ready;
	uLongf packed_count = PACKED_MAX_BYTES;
	struct byte_reader reader;
	uint8_t *packed;
	size_t part_bytes, half;

	if (!is_ready)
		grpc_init();
	is_ready = true;
	byte_reader_init(&reader, data, size);
	part_bytes = 1 + byte_reader_u8(&reader);
	data = reader.position;
	size = byte_reader_left(&reader);
	half = size / 2;
	read_message(NULL, MAX_BYTES, NULL, 0);
	if (!size)
		return 0;
	make_and_read(data, size, part_bytes, false, data, size);
	make_and_read(data, size, part_bytes, true, NULL, size);
	packed = malloc(PACKED_MAX_BYTES);
	assert(packed && compress(packed, &packed_count, data, half) == Z_OK);
	make_and_read(packed, packed_count, part_bytes, true, data, half);
	byte_reader_skip(&reader, half);
	edit_bytes(&reader, packed, packed_count);
	make_and_read(packed, packed_count, part_bytes, true, NULL, half);
	free(packed);
	return 0;
}
