/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/grpc_message.h"

#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"

enum {
	/* For zlib: any window size, gzip or zlib header. */
	ANY_HEADER_WINDOW_BITS = 32 + 15,
	/* Free room in the output buffer before each step. */
	STEP_BYTES = 64 << 10,
};

VECTOR_DEFINE(char_vector, char)

struct unpacking {
	z_stream stream;
	struct char_vector out;
	size_t max_bytes;
};

static int too_large(size_t max_bytes)
{
	return fail(-EBADMSG, "the message has more than %zu MiB", max_bytes >> 20);
}

/* Inflates all that @stream has; *@status becomes zlib's. */
static int inflate_slice(struct unpacking *unpacking, grpc_slice slice, int *status)
{
	z_stream *stream = &unpacking->stream;
	struct char_vector *out = &unpacking->out;

	stream->next_in = GRPC_SLICE_START_PTR(slice);
	stream->avail_in = (unsigned int)GRPC_SLICE_LENGTH(slice);
	do {
		if (char_vector_reserve(out, out->count + STEP_BYTES))
			return -ENOMEM;
		stream->next_out = (unsigned char *)out->items + out->count;
		stream->avail_out = STEP_BYTES;
		*status = inflate(stream, Z_NO_FLUSH);
		out->count += STEP_BYTES - stream->avail_out;
		if (out->count > unpacking->max_bytes)
			return too_large(unpacking->max_bytes);
		/*
		 * If the stream has not ended, either all input was consumed or zlib returned an
		 * error.
		 */
	} while (*status == Z_OK && (stream->avail_in || !stream->avail_out));
	return 0;
}

static int inflate_all(struct unpacking *unpacking, grpc_byte_buffer_reader *reader)
{
	int err = 0, status = Z_OK;
	grpc_slice slice;

	while (!err && (status == Z_OK || status == Z_BUF_ERROR) &&
	       grpc_byte_buffer_reader_next(reader, &slice)) {
		err = inflate_slice(unpacking, slice, &status);
		grpc_slice_unref(slice);
	}
	if (err)
		return err;
	return status == Z_STREAM_END ? 0 : fail(-EBADMSG, "the packed message is damaged");
}

static int unpack(grpc_byte_buffer_reader *reader, size_t max_bytes, struct char_vector *out)
{
	struct unpacking unpacking = { .max_bytes = max_bytes };
	int err;

	if (inflateInit2(&unpacking.stream, ANY_HEADER_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	err = inflate_all(&unpacking, reader);
	inflateEnd(&unpacking.stream);
	*out = unpacking.out;
	return err;
}

static int copy(grpc_byte_buffer_reader *reader, size_t bytes, struct char_vector *out)
{
	grpc_slice slice;

	out->items = malloc(bytes + 1);
	if (!out->items)
		return -ENOMEM;
	out->capacity = bytes + 1;
	while (grpc_byte_buffer_reader_next(reader, &slice)) {
		memcpy(out->items + out->count, GRPC_SLICE_START_PTR(slice),
		       GRPC_SLICE_LENGTH(slice));
		out->count += GRPC_SLICE_LENGTH(slice);
		grpc_slice_unref(slice);
	}
	return 0;
}

int grpc_message_read(grpc_byte_buffer *message, size_t max_bytes, char **bytes, size_t *count)
{
	_cleanup_(char_vector_deinit) struct char_vector out = { 0 };
	grpc_byte_buffer_reader reader;
	size_t message_bytes = message ? grpc_byte_buffer_length(message) : 0;
	int err;

	if (!message || !grpc_byte_buffer_reader_init(&reader, message))
		return fail(-EBADMSG, "there is no message");
	if (message_bytes > max_bytes)
		err = too_large(max_bytes);
	else if (message->data.raw.compression == GRPC_COMPRESS_NONE)
		err = copy(&reader, message_bytes, &out);
	else
		err = unpack(&reader, max_bytes, &out);
	grpc_byte_buffer_reader_destroy(&reader);
	if (!err)
		err = char_vector_reserve(&out, out.count + 1);
	if (err)
		return err;
	*count = out.count;
	*bytes = take_pointer(out.items);
	return 0;
}
