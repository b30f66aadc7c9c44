/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib and zstd are decompressed in one call, xz chunk by chunk. The caller bounds the output, and no library
 * allocates memory by sizes in the input. libdeflate, which takes half of zlib's time, and zstd write straight
 * to the output. liblzma has a limit, and touches no more of its dictionary than the output fills.
 */
#include "lib/host/decompress.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/* A little more than xz -9 needs. */
	XZ_MEMORY_MAX_BYTES = 72 << 20,
	XZ_FIRST_OUTPUT_BYTES = 256 << 10,
	/* Limit of input that gives no output, since empty blocks could go on for ever. */
	INPUT_SPARE_BYTES = 64 << 10,
	/* Data that cannot be compressed grow, but by far less than this fraction. */
	INPUT_GROWTH = 8,
};

void decompress_prepare(void)
{
	/* On arm64 libdeflate reads /proc/self/auxv. */
	libdeflate_adler32(1, "", 1);
}

static int decompress_zlib(const void *input, size_t input_bytes, void *output, size_t output_bytes)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	enum libdeflate_result result;

	if (!decompressor)
		return fail(-ENOMEM, "no memory to decompress");
	/* With NULL, an output of another length than the buffer's is an error. */
	result = libdeflate_zlib_decompress(decompressor, input, input_bytes, output, output_bytes,
					    NULL);
	libdeflate_free_decompressor(decompressor);
	if (result != LIBDEFLATE_SUCCESS)
		return fail(-EBADMSG, "zlib data are damaged or not of the size that is stated");
	return 0;
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
	size_t growth_bytes = output_bytes / INPUT_GROWTH + INPUT_SPARE_BYTES;

	if (input_bytes > output_bytes && input_bytes - output_bytes > growth_bytes)
		input_bytes = output_bytes + growth_bytes;
	switch (compression) {
	case COMPRESSION_ZLIB:
		return decompress_zlib(input, input_bytes, output, output_bytes);
	case COMPRESSION_ZSTD:
		return decompress_zstd(input, input_bytes, output, output_bytes);
	}
	return fail(-EOPNOTSUPP, "compression %d is not known", compression);
}

/* Doubles the room for the output. */
static int grow_output(lzma_stream *stream, void **buffer, size_t *capacity, size_t max)
{
	size_t written = stream->total_out;
	size_t wanted = *capacity ? *capacity * 2 : XZ_FIRST_OUTPUT_BYTES;
	void *grown;

	if (written == max)
		return fail(-E2BIG, "xz data of more than %zu bytes", max);
	if (wanted > max)
		wanted = max;
	grown = realloc(*buffer, wanted);
	if (!grown)
		return fail(-ENOMEM, "no memory for %zu bytes of xz data", wanted);
	*buffer = grown;
	*capacity = wanted;
	stream->next_out = (uint8_t *)grown + written;
	stream->avail_out = wanted - written;
	return 0;
}

static int decode_xz(lzma_stream *stream, size_t output_max, void **output)
{
	_cleanup_(free_pointer) void *buffer = NULL;
	size_t capacity = 0;
	lzma_ret status = LZMA_OK;

	while (status == LZMA_OK) {
		int err = stream->avail_out ? 0 :
					      grow_output(stream, &buffer, &capacity, output_max);

		if (err)
			return err;
		status = lzma_code(stream, LZMA_FINISH);
	}
	switch (status) {
	case LZMA_STREAM_END:
		*output = take_pointer(buffer);
		return 0;
	case LZMA_MEM_ERROR:
		return fail(-ENOMEM, "no memory to decompress");
	case LZMA_MEMLIMIT_ERROR:
		return fail(-E2BIG, "xz data want a dictionary over the limit");
	default:
		return fail(-EBADMSG, "xz data are damaged (%d)", status);
	}
}

int decompress_xz(const void *input, size_t input_bytes, size_t output_max, void **output,
		  size_t *output_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int err;

	if (lzma_stream_decoder(&stream, XZ_MEMORY_MAX_BYTES, LZMA_CONCATENATED) != LZMA_OK)
		return fail(-ENOMEM, "no memory to decompress");
	stream.next_in = input;
	stream.avail_in = input_bytes;
	err = decode_xz(&stream, output_max, output);
	if (!err)
		*output_bytes = stream.total_out;
	lzma_end(&stream);
	return err;
}
