/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is limited by the caller, and time by GUNZIP_COUNT_MAX_BYTES. */

#include "integration/collector/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/base/cleanup.h"

enum {
	GZIP_ONLY = 16,
	CHUNK_BYTES = 1 << 16,
};

/* Inflates to the end; output beyond @max_bytes is counted and discarded. */
static int inflate_all(z_stream *stream, uint8_t *out, size_t max_bytes, size_t *count)
{
	static __thread uint8_t rest[CHUNK_BYTES];
	int status;

	*count = 0;
	do {
		size_t room = *count < max_bytes ? max_bytes - *count : CHUNK_BYTES;

		stream->next_out = *count < max_bytes ? out + *count : rest;
		stream->avail_out = room < CHUNK_BYTES ? room : CHUNK_BYTES;
		room = stream->avail_out;
		status = inflate(stream, Z_NO_FLUSH);
		*count += room - stream->avail_out;
	} while (status == Z_OK && *count < GUNZIP_COUNT_MAX_BYTES);
	if (*count > max_bytes)
		return -E2BIG;
	return status == Z_STREAM_END && !stream->avail_in ? 0 : -EBADMSG;
}

int gunzip(struct span packed, size_t max_bytes, uint8_t **bytes, size_t *byte_count)
{
	_cleanup_(free_pointer) uint8_t *out = malloc(max_bytes);
	z_stream stream = {
		.next_in = (uint8_t *)packed.bytes,
		.avail_in = packed.count,
	};
	size_t count;
	int err;

	if (!out || inflateInit2(&stream, MAX_WBITS | GZIP_ONLY) != Z_OK)
		return -ENOMEM;
	err = inflate_all(&stream, out, max_bytes, &count);
	inflateEnd(&stream);
	if (!err || err == -E2BIG)
		*byte_count = count;
	if (!err)
		*bytes = take_pointer(out);
	return err;
}
