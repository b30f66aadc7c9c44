/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/gunzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"

enum {
	/* zlib's windowBits: the largest window, with a gzip header. */
	GZIP_WINDOW_BITS = MAX_WBITS + 16,
	FIRST_ROOM_BYTES = 64 << 10,
};

VECTOR_DEFINE(byte_vector, char)

bool is_gzip(const char *bytes, size_t count)
{
	return count > 2 && !memcmp(bytes, "\x1f\x8b", 2);
}

/* Appends the next output; returns zlib's status, or Z_MEM_ERROR. */
static int inflate_more(z_stream *stream, struct byte_vector *out)
{
	int status;

	if (byte_vector_reserve(out, out->count + FIRST_ROOM_BYTES))
		return Z_MEM_ERROR;
	stream->next_out = (unsigned char *)out->items + out->count;
	stream->avail_out = out->capacity - out->count < UINT32_MAX ?
				    (unsigned int)(out->capacity - out->count) :
				    UINT32_MAX;
	status = inflate(stream, Z_NO_FLUSH);
	out->count = (size_t)((char *)stream->next_out - out->items);
	/* Another member may follow. */
	if (status == Z_STREAM_END && stream->avail_in)
		return inflateReset(stream);
	return status;
}

static int inflate_all(z_stream *stream, size_t max_bytes, struct byte_vector *out)
{
	int status = Z_OK;

	while (status == Z_OK && out->count <= max_bytes)
		status = inflate_more(stream, out);
	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	if (out->count > max_bytes)
		return fail(-EBADMSG, "unpacked it has more than %zu MiB", max_bytes >> 20);
	return status == Z_STREAM_END ? 0 : fail(-EBADMSG, "its compressed data is damaged");
}

int gunzip(const char *packed, size_t packed_count, size_t max_bytes, char **bytes, size_t *count)
{
	_cleanup_(byte_vector_deinit) struct byte_vector out = { 0 };
	z_stream stream = {
		.next_in = (unsigned char *)packed,
		.avail_in = (unsigned int)packed_count,
	};
	int err;

	if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	err = inflate_all(&stream, max_bytes, &out);
	inflateEnd(&stream);
	if (!err)
		err = byte_vector_reserve(&out, out.count + 1);
	if (err)
		return err;
	*count = out.count;
	*bytes = take_pointer(out.items);
	return 0;
}
