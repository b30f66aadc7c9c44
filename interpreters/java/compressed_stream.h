/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's compressed numbers (UNSIGNED5): 1 to 5 bytes, of which the low ones end a number. Up to 19
 * all bytes were in use, from 20 on 0 is not.
 *
 * Source: share/code/compressedStream.hpp of OpenJDK 8 to 17, share/utilities/unsigned5.hpp of 21.
 */
#ifndef INTERPRETERS_JAVA_COMPRESSED_STREAM_H
#define INTERPRETERS_JAVA_COMPRESSED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPRESSED_FIRST_WITHOUT_ZERO = 20 };

/** Borrows its bytes, which are hostile: what is not there reads as 0, with is_at_end. */
struct compressed_stream {
	const uint8_t *bytes;
	size_t size;
	size_t offset;
	/** Of Java. */
	uint32_t version;
	/** Something was read from behind the end, or is no number. */
	bool is_at_end;
};

uint8_t compressed_stream_byte(struct compressed_stream *stream);
uint32_t compressed_stream_unsigned(struct compressed_stream *stream);
int32_t compressed_stream_signed(struct compressed_stream *stream);

#endif
