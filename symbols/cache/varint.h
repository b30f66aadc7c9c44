/* SPDX-License-Identifier: Apache-2.0 */
/** Writes numbers of variable length (DWARF 5, 7.6); lib/base/byte_reader.h reads them. */
#ifndef SYMBOLS_CACHE_VARINT_H
#define SYMBOLS_CACHE_VARINT_H

#include <stdint.h>

#include "lib/base/vector.h"

enum {
	VARINT_MAX_BYTES = 10,
};

VECTOR_DEFINE(byte_vector, uint8_t)

/** Appends @value to @bytes, which must have room for VARINT_MAX_BYTES. */
static inline void put_uleb128(struct byte_vector *bytes, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		bytes->items[bytes->count++] = (uint8_t)(value | 0x80);
	bytes->items[bytes->count++] = (uint8_t)value;
}

static inline void put_sleb128(struct byte_vector *bytes, int64_t value)
{
	for (; value < -0x40 || value >= 0x40; value >>= 7)
		bytes->items[bytes->count++] = (uint8_t)(value | 0x80);
	bytes->items[bytes->count++] = value & 0x7f;
}

#endif
