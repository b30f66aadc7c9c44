/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_positions.h"

#include <errno.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	/** Prefix bytecodes: operands of the next bytecode have 2 or 4 bytes. Each has a variant for debuggers. */
	BYTECODE_WIDE,
	BYTECODE_EXTRA_WIDE,
	BYTECODE_DEBUG_BREAK_WIDE,
	BYTECODE_DEBUG_BREAK_EXTRA_WIDE,

	/** Bits of a packed position. */
	OFFSET_SHIFT = 1,
	OFFSET_MASK = (1 << 30) - 1,
	INLINING_SHIFT = 31,
	INLINING_MASK = (1 << 16) - 1,
	IS_EXTERNAL = 1,
};

/*
 * Two digits for each bytecode: its size with operands of one byte, and the number of operands that a prefix widens.
 * Source: Bytecodes::kBytecodeSizes of Node.js 16.20.2, 18.20.8, 20.20.2, 22.23.3, 24.21.0, 25.9.0 and 26.10.0.
 */
static const char *const bytecode_sizes[V8_LINE_COUNT] = {
	[V8_9_4] =
		"1010101010213243545263211021101010101021434321212132212121101010203232324321214343214343"
		"3143433232324343434353213232323232323232323232323232323232323232323232322121212110101021"
		"2121545443546554324354545263424254543232323232323232212121211042421021421042324221323232"
		"3210101032212121212121212121212121212121212121212121214321323254211010101021101021435443"
		"431021211010101010101010101010101010101010",
	[V8_10_2] =
		"1010101010213243545263211021101010101021434321212132212121101010203232324321214343214343"
		"3143433232324343434343532132323232323232323232323232323232323232323232323221212121101010"
		"2121215454435465543243545452634242545432323232323232322121212110424210214210423242213232"
		"3232101010322121212121212121212121212121212121212121212143213232542110101010211010214354"
		"43431021211010101010101010101010101010101010",
	[V8_11_3] =
		"1010101010213243545263211021101010101021434321212132212121101010203232324321214343214343"
		"3143433232324343435343533232323232323232323232323232323232323232323232322121212110101021"
		"2121435454435465543243545452634242545432323232323232322121212110524210214210423242213232"
		"3232101010432121212121212121212121212121212121212121212143213232542110101010211010214354"
		"43431021211010101010101010101010101010101010",
	[V8_12_4] =
		"1010101010213243545263211021101010101021434321212132212121101010203232324321432121434321"
		"4343314343325432324343435343533232323232323232323232323232323232323232323232322121212110"
		"1010212121435454435465543243545452634242545432323232323232323210212121101052421021421042"
		"3242213232323210101043212121212121212121212121212121212121212121214321323254211010101021"
		"101021435443431021211010101010101010101010101010101010",
	[V8_13_6] =
		"1010101010213243545263211021101010101021434343212121213221212110101020323232432143212143"
		"4343214343433143433254323243434353435332323232323232323232323232323232323232323232323221"
		"2121211010212121214354544354655432435454526342425454323232323232323232102121211010524210"
		"2142104232422132323232101010432121212121212121212143212121212121212121212121434321325421"
		"1010101021101021435443431021211010101010101010101010101010101010",
	[V8_14_1] =
		"1010101010213243545263211021101010101021434343212121213221212110101020323232432143212143"
		"4343214343433143433254323243434353435321323232323232323232323232423232323232323232323232"
		"3221212121101021212121435454435465543243545452634242545432323232323232323210212121101052"
		"4210214210423242213232323232101010432121212121212121212143212121212121212121212121434321"
		"325421431010101021101021435443431021211010101010101010101010101010101010",
	[V8_14_6] =
		"1010101010213243545263211021101010101021434343212121213221212110101020323232432143212143"
		"4343214343433143433254323243434353435332323232323232323232323232423232323232323232323232"
		"3221212121101021212121435454435465543243545452634242545432414141414141323210212121101052"
		"4210214210423242213232323232101010432121212121212121212143212121212121212121212121434321"
		"325421541010101021101021435443431021201010101010101010101010101010101010",
};

struct v8_position v8_position_decode(uint64_t packed)
{
	return (struct v8_position){
		/* An external position is a line of another file, in V8's own code. */
		.script_offset = packed & IS_EXTERNAL ?
					 -1 :
					 (int32_t)(packed >> OFFSET_SHIFT & OFFSET_MASK) - 1,
		.inlining_id = (int32_t)(packed >> INLINING_SHIFT & INLINING_MASK) - 1,
	};
}

/* Decodes a signed number whose sign is in the low bit. */
static int64_t decode_signed(uint64_t number)
{
	return (int64_t)(number >> 1 ^ -(number & 1));
}

/* Reads the distance in the code from the last entry to the next one. */
static int64_t read_code_delta(enum v8_line line, struct byte_reader *reader)
{
	uint64_t number = byte_reader_uleb128(reader);
	int64_t delta;

	/* The two low bits are flags: a statement begins here, and a debugger may stop here. */
	if (line >= V8_14_1)
		return (int64_t)(number >> 2);
	/* The number is negative if the entry is no statement. */
	delta = decode_signed(number);
	return delta >= 0 ? delta : -(delta + 1);
}

int v8_positions_find(enum v8_line line, const uint8_t *table, size_t size, int32_t code_offset,
		      struct v8_position *position)
{
	/* The entry of the function itself has the offset -1. */
	int64_t at = -1;
	uint64_t packed = 0, found = 0;
	bool is_found = false;
	struct byte_reader reader;

	byte_reader_init(&reader, table, size);
	while (byte_reader_left(&reader)) {
		int64_t delta = read_code_delta(line, &reader);

		packed += (uint64_t)decode_signed(byte_reader_uleb128(&reader));
		if (byte_reader_failed(&reader) || delta < 0 || delta > INT32_MAX - at)
			return fail(-EBADMSG, "a table of positions that is none");
		at += delta;
		if (at > code_offset)
			break;
		found = packed;
		is_found = true;
	}
	if (!is_found)
		return fail(-ENOENT, "no position at %d", code_offset);
	*position = v8_position_decode(found);
	return 0;
}

/* The size of @bytecode with operands of @width bytes (1, 2 or 4); 0: there is no such bytecode. */
static uint32_t bytecode_bytes_of(enum v8_line line, uint8_t bytecode, uint32_t width)
{
	const char *sizes = bytecode_sizes[line];

	if (bytecode >= strlen(sizes) / 2)
		return 0;
	return (uint32_t)(sizes[2 * bytecode] - '0') +
	       (width - 1) * (uint32_t)(sizes[2 * bytecode + 1] - '0');
}

/* Moves *@offset to the end of the bytecode there, including its prefix. */
static int skip_bytecode(enum v8_line line, const uint8_t *bytecodes, size_t size, size_t *offset)
{
	size_t at = *offset;
	uint32_t width = 1, bytes;

	switch (bytecodes[at]) {
	case BYTECODE_WIDE:
	case BYTECODE_DEBUG_BREAK_WIDE:
		width = 2;
		break;
	case BYTECODE_EXTRA_WIDE:
	case BYTECODE_DEBUG_BREAK_EXTRA_WIDE:
		width = 4;
		break;
	default:
		break;
	}
	if (width > 1)
		at++;
	bytes = at < size ? bytecode_bytes_of(line, bytecodes[at], width) : 0;
	if (!bytes || bytes > size - at)
		return fail(-EBADMSG, "bytecodes that end in the midst of one");
	*offset = at + bytes;
	return 0;
}

int v8_baseline_offset(enum v8_line line, const uint8_t *table, size_t size,
		       const uint8_t *bytecodes, size_t bytecode_bytes, uint32_t pc_offset,
		       bool is_return_address, int32_t *bytecode_offset)
{
	/* End of the instructions of the current bytecode; at first, of the code before the first bytecode. */
	uint64_t end;
	int32_t found = -1;
	bool is_found;
	struct byte_reader reader;

	byte_reader_init(&reader, table, size);
	end = byte_reader_uleb128(&reader);
	is_found = pc_offset < end + is_return_address;
	for (size_t at = 0; at < bytecode_bytes;) {
		const int32_t start = (int32_t)at;
		int err = skip_bytecode(line, bytecodes, bytecode_bytes, &at);

		if (err)
			return err;
		end += byte_reader_uleb128(&reader);
		if (byte_reader_failed(&reader) || end > UINT32_MAX)
			return fail(-EBADMSG, "a table of too few bytecodes");
		if (!is_found && pc_offset < end + is_return_address) {
			is_found = true;
			found = start;
		}
	}
	/* A table for other bytecodes has another length. */
	if (byte_reader_failed(&reader) || byte_reader_left(&reader) || !is_found)
		return fail(-EBADMSG, "a table that does not fit its bytecodes");
	*bytecode_offset = found;
	return 0;
}
