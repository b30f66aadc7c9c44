/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/address_table.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/base/error.h"
#include "symbols/big_bytes.h"

enum {
	NUMBER_BYTES = 4,
	/* Number of rows and widths, and the least numbers. */
	BLOCK_HEAD_BYTES = 2 + 2 * NUMBER_BYTES,
	BLOCK_MAX_BYTES = BLOCK_HEAD_BYTES + 3 * NUMBER_BYTES * ADDRESS_TABLE_BLOCK_ROWS,
};

void address_table_bytes_deinit(struct address_table_bytes *table)
{
	number_vector_deinit(&table->addresses);
	number_vector_deinit(&table->offsets);
	big_bytes_deinit(&table->rows);
}

/* Bytes that numbers up to @largest take. */
static uint32_t width_of(uint32_t largest)
{
	return largest ? (32 - __builtin_clz(largest) + 7) / 8 : 0;
}

static void put_number(struct byte_vector *bytes, uint32_t number, uint32_t width)
{
	for (uint32_t i = 0; i < width; i++)
		bytes->items[bytes->count++] = (uint8_t)(number >> 8 * i);
}

/* The least and the largest numbers of the rows that wait. */
static void find_bounds(const struct address_table_bytes *table, struct address_value *least,
			struct address_value *largest)
{
	*least = table->waiting[0].value;
	*largest = *least;
	for (uint32_t i = 1; i < table->waiting_count; i++) {
		struct address_value value = table->waiting[i].value;

		least->first = value.first < least->first ? value.first : least->first;
		least->second = value.second < least->second ? value.second : least->second;
		largest->first = value.first > largest->first ? value.first : largest->first;
		largest->second = value.second > largest->second ? value.second : largest->second;
	}
}

static void put_block(struct address_table_bytes *table)
{
	const struct address_row *rows = table->waiting;
	struct byte_vector *bytes = &table->rows;
	uint32_t count = table->waiting_count, widths[3];
	struct address_value least, largest;

	find_bounds(table, &least, &largest);
	widths[0] = width_of(rows[count - 1].address - rows[0].address);
	widths[0] += !widths[0];
	widths[1] = width_of(largest.first - least.first);
	widths[2] = width_of(largest.second - least.second);
	put_number(bytes, (count - 1) | (widths[0] - 1) << 4, 1);
	put_number(bytes, widths[1] | widths[2] << 4, 1);
	put_number(bytes, least.first, NUMBER_BYTES);
	put_number(bytes, least.second, NUMBER_BYTES);
	for (uint32_t i = 1; i < count; i++)
		put_number(bytes, rows[i].address - rows[0].address, widths[0]);
	for (uint32_t i = 0; i < count; i++)
		put_number(bytes, rows[i].value.first - least.first, widths[1]);
	for (uint32_t i = 0; i < count; i++)
		put_number(bytes, rows[i].value.second - least.second, widths[2]);
}

int address_table_bytes_finish(struct address_table_bytes *table)
{
	uint64_t start = table->waiting[0].address;

	if (!table->waiting_count)
		return 0;
	if (!table->addresses.count)
		table->base = start;
	if (table->waiting[table->waiting_count - 1].address - table->base > UINT32_MAX ||
	    table->rows.count > UINT32_MAX - BLOCK_MAX_BYTES)
		return fail(-E2BIG, "a table of more than 4 GiB");
	if (number_vector_push(&table->addresses, htole32(start - table->base)) ||
	    number_vector_push(&table->offsets, htole32(table->rows.count)) ||
	    big_bytes_reserve(&table->rows, table->rows.count + BLOCK_MAX_BYTES))
		return fail(-ENOMEM, "no memory for a table of addresses");
	put_block(table);
	table->waiting_count = 0;
	return 0;
}

int address_table_bytes_add(struct address_table_bytes *table, struct address_row row)
{
	table->waiting[table->waiting_count++] = row;
	table->row_count++;
	return table->waiting_count == ADDRESS_TABLE_BLOCK_ROWS ?
		       address_table_bytes_finish(table) :
		       0;
}

static uint32_t number_at(const uint8_t *numbers, uint32_t i)
{
	uint32_t number;

	memcpy(&number, numbers + (size_t)i * sizeof(number), sizeof(number));
	return le32toh(number);
}

/* The number of blocks that begin at or below @offset. */
static uint32_t blocks_up_to(const struct address_table *table, uint32_t offset)
{
	uint32_t first = 0, left = table->block_count;

	/* Without a branch that depends on what is compared: it would be wrong every other time. */
	while (left) {
		uint32_t half = left / 2;
		bool is_behind = number_at(table->addresses, first + half) <= offset;

		first += is_behind ? left - half : 0;
		left = half;
	}
	return first;
}

/* A number of 0 to 4 bytes. */
static uint32_t read_number(const uint8_t *bytes, uint32_t width)
{
	uint32_t number = 0;

	switch (width) {
	case 1:
		return *bytes;
	case 2:
		return bytes[0] | bytes[1] << 8;
	case 3:
		return bytes[0] | bytes[1] << 8 | bytes[2] << 16;
	case 4:
		memcpy(&number, bytes, sizeof(number));
		return le32toh(number);
	default:
		return 0;
	}
}

/* Of @count addresses of rows, how many are at or below @offset. */
static uint32_t rows_up_to(const uint8_t *addresses, uint32_t count, uint32_t width,
			   uint32_t offset)
{
	uint32_t below = 0;

	/* Without a branch at the row that counts, which nobody could guess. */
	if (width == 1) {
		for (uint32_t i = 0; i < count; i++)
			below += addresses[i] <= offset;
		return below;
	}
	if (width == 2) {
		for (uint32_t i = 0; i < count; i++)
			below += (uint32_t)(addresses[2 * i] | addresses[2 * i + 1] << 8) <= offset;
		return below;
	}
	while (below < count && read_number(addresses + below * width, width) <= offset)
		below++;
	return below;
}

static struct address_value find_in_block(const uint8_t *bytes, size_t size, uint32_t offset)
{
	const struct address_value none = { 0 };
	uint32_t count, widths[3], row;
	const uint8_t *numbers;

	if (size < BLOCK_HEAD_BYTES)
		return none;
	count = (bytes[0] & 15) + 1;
	widths[0] = (bytes[0] >> 4) + 1;
	widths[1] = bytes[1] & 15;
	widths[2] = bytes[1] >> 4;
	if (widths[0] > NUMBER_BYTES || widths[1] > NUMBER_BYTES || widths[2] > NUMBER_BYTES ||
	    size < BLOCK_HEAD_BYTES + (count - 1) * widths[0] + count * (widths[1] + widths[2]))
		return none;
	numbers = bytes + BLOCK_HEAD_BYTES;
	row = rows_up_to(numbers, count - 1, widths[0], offset);
	numbers += (count - 1) * widths[0];
	return (struct address_value){
		.first = read_number(bytes + 2, NUMBER_BYTES) +
			 read_number(numbers + row * widths[1], widths[1]),
		.second = read_number(bytes + 2 + NUMBER_BYTES, NUMBER_BYTES) +
			  read_number(numbers + count * widths[1] + row * widths[2], widths[2]),
	};
}

struct address_value address_table_lookup(const struct address_table *table, uint64_t address)
{
	const struct address_value none = { 0 };
	uint64_t offset = address - table->base;
	uint32_t block;
	size_t start;

	if (address < table->base || offset > UINT32_MAX)
		return none;
	block = blocks_up_to(table, offset);
	if (!block)
		return none;
	block--;
	start = number_at(table->offsets, block);
	if (start > table->rows_bytes)
		return none;
	return find_in_block(table->rows + start, table->rows_bytes - start,
			     offset - number_at(table->addresses, block));
}
