/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/compressed_stream.h"

enum {
	MAX_BYTES = 5,
	/** Bits in each byte except the first. */
	BITS = 6,
	/** The highest byte values do not end a number; this is their count. */
	HIGH_BYTES = 1 << BITS,
};

uint8_t compressed_stream_byte(struct compressed_stream *stream)
{
	if (stream->offset >= stream->size) {
		stream->is_at_end = true;
		return 0;
	}
	return stream->bytes[stream->offset++];
}

uint32_t compressed_stream_unsigned(struct compressed_stream *stream)
{
	uint32_t excluded = stream->version >= COMPRESSED_FIRST_WITHOUT_ZERO, sum = 0;

	for (int i = 0; i < MAX_BYTES; i++) {
		uint32_t byte = compressed_stream_byte(stream);

		if (byte < excluded)
			stream->is_at_end = true;
		if (stream->is_at_end)
			return 0;
		sum += (byte - excluded) << BITS * i;
		if (byte < 256 - HIGH_BYTES)
			break;
	}
	return sum;
}

int32_t compressed_stream_signed(struct compressed_stream *stream)
{
	uint32_t value = compressed_stream_unsigned(stream);

	return (int32_t)(value >> 1 ^ -(value & 1));
}
