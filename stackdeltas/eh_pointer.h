/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Encoded pointers of .eh_frame and .eh_frame_hdr (LSB Core 5.0, 10.5.1 "DWARF Exception Header
 * Encoding").
 */
#ifndef STACKDELTAS_EH_POINTER_H
#define STACKDELTAS_EH_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/byte_reader.h"

enum eh_pointer_encoding {
	EH_POINTER_ABSOLUTE = 0x00,
	EH_POINTER_ULEB128 = 0x01,
	EH_POINTER_UDATA2 = 0x02,
	EH_POINTER_UDATA4 = 0x03,
	EH_POINTER_UDATA8 = 0x04,
	EH_POINTER_SLEB128 = 0x09,
	EH_POINTER_SDATA2 = 0x0a,
	EH_POINTER_SDATA4 = 0x0b,
	EH_POINTER_SDATA8 = 0x0c,
	EH_POINTER_FORMAT_MASK = 0x0f,

	EH_POINTER_PC_RELATIVE = 0x10,
	EH_POINTER_TEXT_RELATIVE = 0x20,
	EH_POINTER_DATA_RELATIVE = 0x30,
	EH_POINTER_BASE_MASK = 0x70,

	EH_POINTER_INDIRECT = 0x80,
	EH_POINTER_OMITTED = 0xff,
};

/** False for encodings that eh_pointer_read() refuses: indirect, aligned, function-relative, unknown. */
bool eh_pointer_is_known(uint8_t encoding);

/**
 * Reads a pointer. @reader_address is the ELF virtual address of the reader's first byte,
 * @data_address is the base of data-relative pointers. The base of text-relative pointers is 0, since
 * x86-64 and arm64 define none. Fails the reader (and returns 0) for a refused encoding.
 */
uint64_t eh_pointer_read_slow(struct byte_reader *reader, uint8_t encoding, uint64_t reader_address,
			      uint64_t data_address);

/** As eh_pointer_read_slow(), but without a call for the encodings of nearly every file. */
static inline uint64_t eh_pointer_read(struct byte_reader *reader, uint8_t encoding,
				       uint64_t reader_address, uint64_t data_address)
{
	uint64_t position = reader_address + byte_reader_offset(reader);

	if (encoding == (EH_POINTER_PC_RELATIVE | EH_POINTER_SDATA4))
		return position + (uint64_t)(int64_t)(int32_t)byte_reader_u32(reader);
	if (encoding == EH_POINTER_SDATA4)
		return (uint64_t)(int64_t)(int32_t)byte_reader_u32(reader);
	return eh_pointer_read_slow(reader, encoding, reader_address, data_address);
}

#endif
