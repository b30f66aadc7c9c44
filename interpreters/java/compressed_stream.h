/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's compressed numbers (UNSIGNED5) of 1 to 5 bytes. A byte with a low value ends a number. Java up to
 * 19 uses all byte values; from 20 on, 0 is not used.
 *
 * Source: share/code/compressedStream.hpp of OpenJDK 8 to 17, share/utilities/unsigned5.hpp of 21.
 */
#ifndef INTERPRETERS_JAVA_COMPRESSED_STREAM_H
#define INTERPRETERS_JAVA_COMPRESSED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPRESSED_FIRST_WITHOUT_ZERO = 20 };

/** Borrows its bytes, which are hostile: a read beyond the end gives 0 and sets is_at_end. */
struct compressed_stream {
	const uint8_t *bytes;
	size_t size;
	size_t offset;
	/** Version of Java. */
	uint32_t version;
	/** A read went beyond the end, or found no number. */
	bool is_at_end;
};

uint8_t compressed_stream_byte(struct compressed_stream *stream);
uint32_t compressed_stream_unsigned(struct compressed_stream *stream);
int32_t compressed_stream_signed(struct compressed_stream *stream);

#endif
