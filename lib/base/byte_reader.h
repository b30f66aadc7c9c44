/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A cursor over borrowed bytes from outside, which never reads past their end. Numbers are little endian and
 * may be unaligned. The first read that does not fit fails the reader for good: it gives 0 (or NULL), and so
 * does every read after it. So a parser may read a whole record and ask byte_reader_failed() once.
 */
#ifndef LIB_BASE_BYTE_READER_H
#define LIB_BASE_BYTE_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
	const uint8_t *start;
	const uint8_t *position;
	const uint8_t *end;
	bool failed;
};

static inline void byte_reader_init(struct byte_reader *reader, const void *bytes, size_t count)
{
	reader->start = bytes;
	reader->position = reader->start;
	reader->end = count ? reader->start + count : reader->start;
	reader->failed = false;
}

static inline bool byte_reader_failed(const struct byte_reader *reader)
{
	return reader->failed;
}

/** Bytes still to be read; 0 after a failure. */
static inline size_t byte_reader_left(const struct byte_reader *reader)
{
	return reader->end - reader->position;
}

/** Distance of the next byte from the start. */
static inline size_t byte_reader_offset(const struct byte_reader *reader)
{
	return reader->position - reader->start;
}

/** Fails the reader by hand, when its content makes no sense. */
static inline void byte_reader_fail(struct byte_reader *reader)
{
	reader->failed = true;
	reader->position = reader->end;
}

/** The next @count bytes, borrowed, and moves behind them; NULL if they are not all there. */
static inline const void *byte_reader_bytes(struct byte_reader *reader, size_t count)
{
	const uint8_t *bytes = reader->position;

	if (reader->failed || count > byte_reader_left(reader)) {
		byte_reader_fail(reader);
		return NULL;
	}
	if (count)
		reader->position += count;
	return bytes;
}

static inline void byte_reader_skip(struct byte_reader *reader, size_t count)
{
	byte_reader_bytes(reader, count);
}

/** Moves to @offset from the start, forth or back; fails beyond the end or after a failure. */
static inline void byte_reader_seek(struct byte_reader *reader, size_t offset)
{
	if (reader->failed || offset > (size_t)(reader->end - reader->start))
		byte_reader_fail(reader);
	else if (reader->start)
		reader->position = reader->start + offset;
}

static inline uint8_t byte_reader_u8(struct byte_reader *reader)
{
	if (reader->position == reader->end) {
		byte_reader_fail(reader);
		return 0;
	}
	return *reader->position++;
}

static inline uint16_t byte_reader_u16(struct byte_reader *reader)
{
	const void *bytes = byte_reader_bytes(reader, sizeof(uint16_t));
	uint16_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

static inline uint32_t byte_reader_u32(struct byte_reader *reader)
{
	const void *bytes = byte_reader_bytes(reader, sizeof(uint32_t));
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t byte_reader_u64(struct byte_reader *reader)
{
	const void *bytes = byte_reader_bytes(reader, sizeof(uint64_t));
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/**
 * LEB128 (DWARF 5, 7.6). Bits beyond the 64th are dropped for the unsigned and the signed number
 * alike, and padding bytes are taken, but more than 16 bytes for one number fail the reader.
 */
uint64_t byte_reader_uleb128_slow(struct byte_reader *reader);
int64_t byte_reader_sleb128_slow(struct byte_reader *reader);

static inline uint64_t byte_reader_uleb128(struct byte_reader *reader)
{
	if (reader->position < reader->end && *reader->position < 0x80)
		return *reader->position++;
	return byte_reader_uleb128_slow(reader);
}

static inline int64_t byte_reader_sleb128(struct byte_reader *reader)
{
	if (reader->position < reader->end && *reader->position < 0x80)
		return (int64_t)((uint64_t)*reader->position++ << 57) >> 57;
	return byte_reader_sleb128_slow(reader);
}

/** A string up to its NUL, borrowed, and moves behind the NUL; NULL if there is none. */
const char *byte_reader_string(struct byte_reader *reader);

#endif
