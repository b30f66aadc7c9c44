/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks addresses up in a range file whose parts are the input's: nothing crashes, and all strings lie
 * in the file. The input is the bytes of the file behind the header, which is made up from the first
 * ones. Then rows are made of it, and a table of those: what is looked up is what was put in.
 *
 * covers: range_file.c address_table.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/byte_reader.h"
#include "symbols/range_file.h"

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
	struct range_frame frames[FRAMES];
	struct range_file file;

	if (range_file_init_unchecked(&file, bytes, size))
		return;
	for (int i = 0; i < LOOKUPS; i++) {
		uint32_t count = range_file_lookup(&file, base + i, frames, 1 + i % FRAMES);

		if (count > 1 + (uint32_t)i % FRAMES)
			abort();
		for (uint32_t k = 0; k < count; k++) {
			check_string(frames[k].function, bytes, size);
			check_string(frames[k].file, bytes, size);
		}
	}
}

static void check_row(const struct address_table_bytes *bytes, uint64_t address,
		      struct address_value expected)
{
	const struct address_table table = {
		.base = bytes->base,
		.block_count = bytes->addresses.count,
		.addresses = (const uint8_t *)bytes->addresses.items,
		.offsets = (const uint8_t *)bytes->offsets.items,
		.rows = bytes->rows.items,
		.rows_bytes = bytes->rows.count,
	};
	struct address_value value = address_table_lookup(&table, address);

	if (value.first != expected.first || value.second != expected.second)
		abort();
}

/* Numbers of 1 to 4 bytes: the first says how many. */
static uint32_t take_number(struct byte_reader *reader)
{
	uint32_t number = byte_reader_u32(reader);

	return number >> 8 * (number & 3);
}

static void put_and_look_up(const uint8_t *data, size_t size)
{
	struct address_table_bytes table = { 0 };
	struct address_row rows[ROWS];
	struct byte_reader reader;
	uint64_t address = 0;
	uint32_t count = 0;
	bool is_full = false;

	byte_reader_init(&reader, data, size);
	while (count < ROWS && byte_reader_left(&reader) >= 3 * sizeof(uint32_t) && !is_full) {
		address += 1 + (uint64_t)take_number(&reader);
		rows[count] = (struct address_row){ address, { take_number(&reader), 0 } };
		rows[count].value.second = take_number(&reader);
		is_full = address_table_bytes_add(&table, rows[count++]);
	}
	if (!is_full && !address_table_bytes_finish(&table)) {
		if (count)
			check_row(&table, rows[0].address - 1, (struct address_value){ 0 });
		for (uint32_t i = 0; i < count; i++) {
			check_row(&table, rows[i].address, rows[i].value);
			if (i + 1 < count)
				check_row(&table, rows[i + 1].address - 1, rows[i].value);
		}
	}
	address_table_bytes_deinit(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range_file_header header = { .version = RANGE_FILE_VERSION };
	struct range_file file;
	struct byte_reader reader;
	uint8_t *bytes;
	uint64_t base;

	put_and_look_up(data, size);
	(void)range_file_init(&file, data, size);
	look_up(data, size, 0);
	byte_reader_init(&reader, data, size);
	base = byte_reader_u8(&reader);
	memcpy(header.magic, RANGE_FILE_MAGIC, sizeof(header.magic));
	for (int i = 0; i < RANGE_TABLE_COUNT; i++)
		header.bases[i] = base + byte_reader_u8(&reader) % 4;
	for (int i = 0; i < RANGE_PART_COUNT; i++) {
		header.parts[i].offset = sizeof(header) + byte_reader_u8(&reader);
		header.parts[i].bytes = byte_reader_u8(&reader);
	}
	size = byte_reader_left(&reader);
	bytes = malloc(sizeof(header) + size);
	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes + sizeof(header), reader.position, size);
	for (int i = 0; i < RANGE_PART_COUNT; i++)
		header.parts[i].hash = (struct hash128){ 0 };
	memcpy(bytes, &header, sizeof(header));
	look_up(bytes, sizeof(header) + size, base);
	/* With hashes that are right. */
	for (int i = 0; i < RANGE_PART_COUNT; i++)
		if (header.parts[i].offset + header.parts[i].bytes <= sizeof(header) + size)
			header.parts[i].hash = hash128_bytes(bytes + header.parts[i].offset,
							     header.parts[i].bytes);
	header.hash = hash128_bytes(&header, offsetof(struct range_file_header, hash));
	memcpy(bytes, &header, sizeof(header));
	(void)range_file_init(&file, bytes, sizeof(header) + size);
	free(bytes);
	return 0;
}
