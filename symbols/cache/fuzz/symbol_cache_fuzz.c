/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up addresses in a symbol cache whose parts come from the input: nothing may crash, and all
 * strings must be in the file. The input is the file after the header; the header is derived from
 * the input's first bytes. Then the input is turned into rows, and these into blocks: a look-up
 * must return the rows.
 *
 * covers: symbol_cache.c symbol_block.c symbol_block_writer.c address_index.c scope_bytes.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "symbols/cache/big_bytes.h"
#include "symbols/cache/symbol_block_writer.h"
#include "symbols/cache/symbol_cache.h"

enum {
	FRAMES = 8,
	LOOKUPS = 64,
	ROWS = 200,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_string(const char *string, const uint8_t *bytes, size_t size)
{
	size_t at;

	if (!string)
		return;
	at = (const uint8_t *)string - bytes;
	if (at >= size || !memchr(string, 0, size - at))
		abort();
}

static void look_up(const uint8_t *bytes, size_t size, uint64_t base)
{
	struct symbol_frame frames[FRAMES];
	struct symbol_cache file;

	if (symbol_cache_init_unchecked(&file, bytes, size))
		return;
	for (int i = 0; i < LOOKUPS; i++) {
		uint32_t count = symbol_cache_lookup(&file, base + i, frames, 1 + i % FRAMES);

		if (count > 1 + (uint32_t)i % FRAMES)
			abort();
		for (uint32_t k = 0; k < count; k++) {
			check_string(frames[k].function, bytes, size);
			check_string(frames[k].file, bytes, size);
		}
	}
}

/* Reads four bytes and drops 0 to 3 of the low ones, as the lowest two bits say, so that small numbers are frequent. */
static uint32_t take_number(struct byte_reader *reader)
{
	uint32_t number = byte_reader_u32(reader);

	return number >> 8 * (number & 3);
}

static void check_row(const struct symbol_block_writer *writer, const struct symbol_blocks *blocks,
		      uint64_t address, const struct symbol_row *expected)
{
	struct symbol_block_row row;
	struct symbol_scope scope, collected = { .name = expected->scope.symbol };
	uint32_t far;

	if (!symbol_blocks_find(blocks, address, &row) || row.file != expected->line.first ||
	    row.line != expected->line.second)
		abort();
	if (!expected->scope.id && !expected->scope.symbol)
		return;
	if (expected->scope.id)
		scope_bytes_read(writer->collected->items, writer->collected->count,
				 expected->scope.id, &collected);
	if (!collected.outer && expected->scope.symbol)
		collected.name = expected->scope.symbol;
	if (!symbol_block_scope(&row, row.scope, &scope, &far) || far ||
	    scope.name != collected.name || !scope.outer != !collected.outer ||
	    scope.call_file != collected.call_file || scope.call_line != collected.call_line ||
	    scope.start_line != collected.start_line)
		abort();
}

static void look_up_rows(struct symbol_block_writer *writer, const struct symbol_row *rows,
			 uint32_t count)
{
	struct offset_vector index = { 0 };
	struct symbol_blocks blocks = {
		.base = writer->base,
		.bytes = writer->blocks.items,
		.count = writer->addresses.count,
	};
	struct symbol_block_row row;

	if (address_index_build(&writer->addresses, &index))
		abort();
	address_index_init(&blocks.index, index.items, blocks.count);
	if (count && symbol_blocks_find(&blocks, rows[0].address - 1, &row))
		abort();
	for (uint32_t i = 0; i < count; i++) {
		check_row(writer, &blocks, rows[i].address, &rows[i]);
		if (i + 1 < count)
			check_row(writer, &blocks, rows[i + 1].address - 1, &rows[i]);
	}
	offset_vector_deinit(&index);
}

static void put_and_look_up(const uint8_t *data, size_t size)
{
	static const uint32_t name_mask = (1 << 29) - 1;
	struct byte_vector collected = { 0 };
	struct symbol_block_writer writer = { .collected = &collected };
	struct symbol_row rows[ROWS];
	struct byte_reader reader;
	uint64_t address = 0;
	uint32_t count = 0, number = 0;
	bool is_full = false;

	byte_reader_init(&reader, data, size);
	while (count < ROWS && byte_reader_left(&reader) >= 5 * sizeof(uint32_t) && !is_full) {
		struct symbol_row *row = &rows[count];
		uint32_t kind = byte_reader_u8(&reader);
		struct symbol_scope scope = { .outer = kind & 1 ? number : 0 };

		scope.name = take_number(&reader) & name_mask;
		scope.start_line = scope.name >> (kind & 7);
		if (scope.outer) {
			scope.call_file = kind >> 4;
			scope.call_line = take_number(&reader);
		}
		if (kind & 2 && scope_bytes_add(&collected, &scope, &number))
			abort();
		address += 1 + (uint64_t)take_number(&reader);
		*row = (struct symbol_row){ .address = address, .scope.id = number };
		row->scope.symbol = kind & 4 ? byte_reader_u8(&reader) : 0;
		row->line = (struct address_value){ kind >> 3, take_number(&reader) };
		is_full = symbol_block_writer_add(&writer, row);
		count += !is_full;
	}
	if (symbol_block_writer_finish(&writer))
		abort();
	look_up_rows(&writer, rows, count);
	symbol_block_writer_deinit(&writer);
	big_bytes_deinit(&collected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_cache_header header = { .version = SYMBOL_CACHE_VERSION };
	struct symbol_cache file;
	struct byte_reader reader;
	uint8_t *bytes;
	uint64_t base;

	put_and_look_up(data, size);
	(void)symbol_cache_init(&file, data, size);
	look_up(data, size, 0);
	byte_reader_init(&reader, data, size);
	base = byte_reader_u8(&reader);
	memcpy(header.magic, SYMBOL_CACHE_MAGIC, sizeof(header.magic));
	header.base = base + byte_reader_u8(&reader) % 4;
	for (int i = 0; i < SYMBOL_CACHE_PART_COUNT; i++) {
		header.parts[i].offset = sizeof(header) + byte_reader_u8(&reader);
		header.parts[i].bytes = byte_reader_u8(&reader);
	}
	/* Gives the part a valid size. */
	header.parts[SYMBOL_CACHE_PART_BLOCKS].bytes =
		header.parts[SYMBOL_CACHE_PART_BLOCKS].bytes % 4 * SYMBOL_BLOCK_BYTES;
	header.parts[SYMBOL_CACHE_PART_INDEX].bytes = address_index_bytes(
		header.parts[SYMBOL_CACHE_PART_BLOCKS].bytes / SYMBOL_BLOCK_BYTES);
	size = byte_reader_left(&reader);
	bytes = malloc(sizeof(header) + size);
	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes + sizeof(header), reader.position, size);
	for (int i = 0; i < SYMBOL_CACHE_PART_COUNT; i++)
		header.parts[i].hash = (struct hash128){ 0 };
	memcpy(bytes, &header, sizeof(header));
	look_up(bytes, sizeof(header) + size, base);
	/* Sets the correct hashes. */
	for (int i = 0; i < SYMBOL_CACHE_PART_COUNT; i++)
		if (header.parts[i].offset + header.parts[i].bytes <= sizeof(header) + size)
			header.parts[i].hash = hash128_bytes(bytes + header.parts[i].offset,
							     header.parts[i].bytes);
	header.hash = hash128_bytes(&header, offsetof(struct symbol_cache_header, hash));
	memcpy(bytes, &header, sizeof(header));
	(void)symbol_cache_init(&file, bytes, sizeof(header) + size);
	free(bytes);
	return 0;
}
