/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inputs as changes of something valid: then a fuzzer is deep in the parser from its first run on, and needs no seeds.
 */
#ifndef LIB_BASE_FUZZ_EDIT_BYTES_H
#define LIB_BASE_FUZZ_EDIT_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/byte_reader.h"

enum {
	/** Changes of one input, so that some of the valid bytes are left. */
	EDITS_MAX = 24,
	EDIT_BYTES = 3,
};

/**
 * Changes @bytes by what is left of @reader: an offset in two bytes, and a byte that is XORed there; 0 stands for -1. Returns
 * the number of changes.
 */
static inline uint32_t edit_bytes(struct byte_reader *reader, void *bytes, size_t size)
{
	uint32_t count = 0;

	for (; size && count < EDITS_MAX && byte_reader_left(reader) >= EDIT_BYTES; count++) {
		uint32_t at = byte_reader_u8(reader);
		uint8_t change;

		at |= (uint32_t)byte_reader_u8(reader) << 8;
		change = byte_reader_u8(reader);
		((uint8_t *)bytes)[at % size] ^= change ? change : 0xff;
	}
	return count;
}

#endif
