/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed files of any bytes, and damaged ones. A file that is not damaged comes out as it went in, over the limit
 * nothing does, and what comes out is never over the limit.
 *
 * covers: gunzip.c
 */
#include "viewer/open/gunzip.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/base/fuzz/edit_bytes.h"

enum {
	MAX_BYTES = 1 << 20,
	PACKED_MAX_BYTES = 1 << 17,
	GZIP_WINDOW_BITS = MAX_WBITS + 16,
	MEMORY_LEVEL = 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const void *packed, size_t packed_count, size_t max_bytes)
{
	size_t count;
	char *bytes;

	if (gunzip(packed, packed_count, max_bytes, &bytes, &count))
		return;
	assert(count <= max_bytes);
	/* There is room for it. */
	bytes[count] = '\0';
	free(bytes);
}

/* Appends a member to the @used bytes of @packed. */
static size_t pack(const uint8_t *data, size_t size, uint8_t *packed, size_t used)
{
	z_stream stream = { .next_in = (unsigned char *)data, .avail_in = (unsigned int)size };

	assert(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
			    Z_DEFAULT_STRATEGY) == Z_OK);
	stream.next_out = packed + used;
	stream.avail_out = (unsigned int)(PACKED_MAX_BYTES - used);
	assert(deflate(&stream, Z_FINISH) == Z_STREAM_END);
	used = (size_t)(stream.next_out - packed);
	deflateEnd(&stream);
	return used;
}

/* Half of the input is packed in two members, the rest damages them. */
static void pack_and_unpack(const uint8_t *data, size_t size)
{
	size_t half = size / 2, quarter = size / 4, count, packed_count;
	uint8_t *packed = malloc(PACKED_MAX_BYTES);
	struct byte_reader reader;
	char *bytes;

	assert(packed);
	packed_count = pack(data, quarter, packed, 0);
	packed_count = pack(data + quarter, half - quarter, packed, packed_count);
	assert(is_gzip((const char *)packed, packed_count));
	assert(!gunzip((const char *)packed, packed_count, MAX_BYTES, &bytes, &count));
	assert(count == half && !memcmp(bytes, data, half));
	free(bytes);
	assert(!half || gunzip((const char *)packed, packed_count, half - 1, &bytes, &count));
	byte_reader_init(&reader, data + half, size - half);
	edit_bytes(&reader, packed, packed_count);
	unpack(packed, packed_count, MAX_BYTES);
	unpack(packed, packed_count / 2, MAX_BYTES);
	free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unpack(data, size, MAX_BYTES);
	pack_and_unpack(data, size);
	return 0;
}
