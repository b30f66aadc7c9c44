/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded pointers, all formats. */
#include "stackdeltas/eh_pointer.h"

bool eh_pointer_is_known(uint8_t encoding)
{
	uint8_t base = encoding & EH_POINTER_BASE_MASK;

	if (encoding & EH_POINTER_INDIRECT || base > EH_POINTER_DATA_RELATIVE)
		return false;
	switch (encoding & EH_POINTER_FORMAT_MASK) {
	case EH_POINTER_ABSOLUTE:
	case EH_POINTER_ULEB128:
	case EH_POINTER_UDATA2:
	case EH_POINTER_UDATA4:
	case EH_POINTER_UDATA8:
	case EH_POINTER_SLEB128:
	case EH_POINTER_SDATA2:
	case EH_POINTER_SDATA4:
	case EH_POINTER_SDATA8:
		return true;
	default:
		return false;
	}
}

static uint64_t read_value(struct byte_reader *reader, uint8_t format)
{
	switch (format) {
	case EH_POINTER_ULEB128:
		return byte_reader_uleb128(reader);
	case EH_POINTER_UDATA2:
		return byte_reader_u16(reader);
	case EH_POINTER_UDATA4:
		return byte_reader_u32(reader);
	case EH_POINTER_SLEB128:
		return byte_reader_sleb128(reader);
	case EH_POINTER_SDATA2:
		return (uint64_t)(int64_t)(int16_t)byte_reader_u16(reader);
	case EH_POINTER_SDATA4:
		return (uint64_t)(int64_t)(int32_t)byte_reader_u32(reader);
	default:
		/* absolute (of the machine's width), 8 bytes with and without sign */
		return byte_reader_u64(reader);
	}
}

uint64_t eh_pointer_read_slow(struct byte_reader *reader, uint8_t encoding, uint64_t reader_address,
			      uint64_t data_address)
{
	uint64_t position = reader_address + byte_reader_offset(reader);
	uint64_t value;

	if (!eh_pointer_is_known(encoding)) {
		byte_reader_fail(reader);
		return 0;
	}
	value = read_value(reader, encoding & EH_POINTER_FORMAT_MASK);
	if (byte_reader_failed(reader))
		return 0;
	switch (encoding & EH_POINTER_BASE_MASK) {
	case EH_POINTER_PC_RELATIVE:
		return position + value;
	case EH_POINTER_DATA_RELATIVE:
		return data_address + value;
	default:
		return value;
	}
}
