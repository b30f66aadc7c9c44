/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are summed as unsigned numbers, so that hostile tables only wrap around; an invalid result becomes 0.
 */
#include "interpreters/python/python_lines.h"

#include "lib/base/byte_reader.h"

enum {
	/** 3.10: the range has no line. */
	SYMBOL_WITHOUT_LINE = -128,
	CODE_UNIT_BYTES = 2,
};

/** enum _PyCodeLocationInfoKind of cpython/code.h; lower kinds have only columns. */
enum location_kind {
	LOCATION_ONE_LINE_0 = 10,
	LOCATION_ONE_LINE_1 = 11,
	LOCATION_ONE_LINE_2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

static uint32_t checked_line(uint32_t line)
{
	return line <= INT32_MAX ? line : 0;
}

static uint32_t increment_line(const uint8_t *table, size_t size, uint32_t line, uint64_t offset,
			       bool is_signed)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += is_signed ? (uint32_t)(int8_t)table[i + 1] : table[i + 1];
	}
	return checked_line(line);
}

static uint32_t range_line(const uint8_t *table, size_t size, uint32_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != SYMBOL_WITHOUT_LINE)
			line += (uint32_t)delta;
		if (end > offset)
			return delta == SYMBOL_WITHOUT_LINE ? 0 : checked_line(line);
	}
	return 0;
}

/* Reads a number of six bits a byte, the least significant first; bit 6 means that more bytes follow. */
static uint32_t read_varint(struct byte_reader *reader)
{
	uint32_t value = 0;

	for (unsigned int shift = 0;; shift += 6) {
		uint8_t byte = byte_reader_u8(reader);

		if (shift < 32)
			value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return value;
	}
}

static uint32_t read_signed_varint(struct byte_reader *reader)
{
	uint32_t value = read_varint(reader);

	return value & 1 ? -(value >> 1) : value >> 1;
}

static uint32_t location_line(const uint8_t *table, size_t size, uint32_t line, uint64_t offset)
{
	struct byte_reader reader;
	uint64_t end = 0;

	byte_reader_init(&reader, table, size);
	while (byte_reader_left(&reader)) {
		uint8_t first = byte_reader_u8(&reader);
		uint8_t kind = first >> 3 & 15;

		end += ((first & 7) + 1) * CODE_UNIT_BYTES;
		if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
			line += read_signed_varint(&reader);
		else if (kind == LOCATION_ONE_LINE_1 || kind == LOCATION_ONE_LINE_2)
			line += kind - LOCATION_ONE_LINE_0;
		if (end > offset)
			return kind == LOCATION_NONE ? 0 : checked_line(line);
		/* The next entry begins at the next byte with its highest bit set. */
		while (byte_reader_left(&reader) && !(*reader.position & 0x80))
			byte_reader_skip(&reader, 1);
	}
	return 0;
}

uint32_t python_line(enum python_line_table kind, const uint8_t *table, size_t size,
		     int32_t first_line, int64_t offset)
{
	uint32_t line = (uint32_t)first_line;

	if (offset < 0)
		return checked_line(line);
	switch (kind) {
	case PYTHON_LINES_UNSIGNED:
	case PYTHON_LINES_SIGNED:
		return increment_line(table, size, line, offset, kind == PYTHON_LINES_SIGNED);
	case PYTHON_LINES_RANGES:
		return range_line(table, size, line, offset);
	case PYTHON_LINES_LOCATIONS:
		return location_line(table, size, line, offset);
	}
	return 0;
}

static uint64_t pairs_bytes(const uint8_t *table, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 1 < size; i += 2)
		sum += table[i];
	return sum;
}

static uint64_t locations_bytes(const uint8_t *table, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		if (table[i] & 0x80)
			sum += ((table[i] & 7) + 1) * CODE_UNIT_BYTES;
	return sum;
}

bool python_lines_fit(enum python_line_table kind, const uint8_t *table, size_t size,
		      uint64_t code_bytes)
{
	switch (kind) {
	case PYTHON_LINES_UNSIGNED:
	case PYTHON_LINES_SIGNED:
		return pairs_bytes(table, size) < code_bytes;
	case PYTHON_LINES_RANGES:
		return pairs_bytes(table, size) == code_bytes;
	case PYTHON_LINES_LOCATIONS:
		return locations_bytes(table, size) == code_bytes;
	}
	return false;
}
