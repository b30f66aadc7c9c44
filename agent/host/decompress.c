/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib and zstd, one shot. The caller bounds the output; neither library gets to allocate by what
 * the input says: zlib's window is 32 KiB at most, and zstd writes straight to the output.
 */
#include "agent/host/decompress.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

#include "agent/base/error.h"

static int inflate_all(z_stream *stream, size_t input_bytes, size_t output_bytes)
{
	size_t input_left = input_bytes, output_left = output_bytes;
	int status;

	/* zlib counts in unsigned int: hand over pieces. */
	do {
		uInt input_piece = input_left < UINT_MAX ? input_left : UINT_MAX;
		uInt output_piece = output_left < UINT_MAX ? output_left : UINT_MAX;

		stream->avail_in = input_piece;
		stream->avail_out = output_piece;
		status = inflate(stream, Z_NO_FLUSH);
		input_left -= input_piece - stream->avail_in;
		output_left -= output_piece - stream->avail_out;
		if (status == Z_OK && !input_left)
			return fail(-EBADMSG, "zlib data end too early");
	} while (status == Z_OK);
	if (status == Z_MEM_ERROR)
		return fail(-ENOMEM, "no memory to decompress");
	/* Z_BUF_ERROR: no progress, because the output is full or the input has ended. */
	if (status != Z_STREAM_END || output_left)
		return fail(-EBADMSG, "zlib data are damaged or not of the size that is stated");
	return 0;
}

static int decompress_zlib(const void *input, size_t input_bytes, void *output, size_t output_bytes)
{
	z_stream stream = {
		.next_in = (Bytef *)input,
		.next_out = output,
	};
	int err;

	if (inflateInit(&stream) != Z_OK)
		return fail(-ENOMEM, "no memory to decompress");
	err = inflate_all(&stream, input_bytes, output_bytes);
	inflateEnd(&stream);
	return err;
}

static int decompress_zstd(const void *input, size_t input_bytes, void *output, size_t output_bytes)
{
	size_t written = ZSTD_decompress(output, output_bytes, input, input_bytes);

	if (ZSTD_isError(written))
		return fail(-EBADMSG, "zstd data: %s", ZSTD_getErrorName(written));
	if (written != output_bytes)
		return fail(-EBADMSG, "zstd data are %zu bytes, not %zu", written, output_bytes);
	return 0;
}

int decompress(enum compression compression, const void *input, size_t input_bytes, void *output,
	       size_t output_bytes)
{
	switch (compression) {
	case COMPRESSION_ZLIB:
		return decompress_zlib(input, input_bytes, output, output_bytes);
	case COMPRESSION_ZSTD:
		return decompress_zstd(input, input_bytes, output, output_bytes);
	}
	return fail(-EOPNOTSUPP, "compression %d is not known", compression);
}
