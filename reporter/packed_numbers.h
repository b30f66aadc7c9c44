/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Varints: groups of 7 bits, the lowest first, each group but the last marked. Only this process
 * writes and reads them, so reading checks no bounds.
 */
#ifndef REPORTER_PACKED_NUMBERS_H
#define REPORTER_PACKED_NUMBERS_H

#include <stdint.h>

enum {
	PACKED_32_MAX_BYTES = 5,
	PACKED_64_MAX_BYTES = 10,
};

/** Returns the position after the written bytes. */
static inline uint8_t *packed_put(uint8_t *to, uint64_t number)
{
	for (; number > 0x7f; number >>= 7)
		*to++ = number | 0x80;
	*to++ = number;
	return to;
}

static inline uint64_t packed_get(const uint8_t **from)
{
	uint64_t number = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = *(*from)++;
		number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return number;
}

/**
 * Encodes a difference of either sign as a small number if it is near 0: the sign becomes the
 * lowest bit.
 */
static inline uint64_t packed_difference(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t unpacked_difference(uint64_t packed)
{
	return packed >> 1 ^ (packed & 1 ? UINT64_MAX : 0);
}

#endif
