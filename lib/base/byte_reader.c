/* SPDX-License-Identifier: Apache-2.0 */
/* The reads that are not worth inlining: LEB128 of more than one byte, and strings. */

#include "lib/base/byte_reader.h"

enum {
	/* 64 bits take 10 bytes; some padding is legal, but not a file full of it. */
	LEB128_MAX_BYTES = 16,
};

/* Fills *@value and returns the number of bits read, 0 on failure. */
static unsigned int read_leb128(struct byte_reader *reader, uint64_t *value)
{
	unsigned int shift = 0;

	*value = 0;
	for (int i = 0; i < LEB128_MAX_BYTES; i++) {
		uint8_t byte = byte_reader_u8(reader);

		if (byte_reader_failed(reader))
			break;
		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			return shift;
	}
	byte_reader_fail(reader);
	*value = 0;
	return 0;
}

uint64_t byte_reader_uleb128_slow(struct byte_reader *reader)
{
	uint64_t value;

	read_leb128(reader, &value);
	return value;
}

int64_t byte_reader_sleb128_slow(struct byte_reader *reader)
{
	uint64_t value;
	unsigned int bits = read_leb128(reader, &value);

	if (bits && bits < 64)
		return (int64_t)(value << (64 - bits)) >> (64 - bits);
	return (int64_t)value;
}

const char *byte_reader_string(struct byte_reader *reader)
{
	size_t left = byte_reader_left(reader);
	const uint8_t *end = left ? memchr(reader->position, 0, left) : NULL;

	if (!end) {
		byte_reader_fail(reader);
		return NULL;
	}
	return byte_reader_bytes(reader, end - reader->position + 1);
}
