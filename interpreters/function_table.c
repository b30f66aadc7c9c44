/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/function_table.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	/** Encoding of .eh_frame_hdr: pairs of 4-byte offsets from the start of the section. */
	HEADER_VERSION = 1,
	TABLE_ENCODING = 0x3b,
	COUNT_ENCODING = 0x03,
	POINTER_ENCODING = 0x1b,
	HEADER_BYTES = 12,
};

int function_table_init(struct function_table *table, const struct elf_image *image)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_GNU_EH_FRAME);
	uint8_t header[HEADER_BYTES];
	uint32_t count;
	int err;

	if (!segment)
		return -ENOENT;
	err = elf_image_read_address(image, segment->address, header, sizeof(header));
	if (err)
		return err;
	if (header[0] != HEADER_VERSION || header[1] != POINTER_ENCODING ||
	    header[2] != COUNT_ENCODING || header[3] != TABLE_ENCODING)
		return -ENOENT;
	memcpy(&count, header + 8, sizeof(count));
	*table = (struct function_table){ .image = image,
					  .header = segment->address,
					  .count = count };
	return 0;
}

/* Reads entry @index: the addresses of a function and of its FDE. */
static int function_table_entry(const struct function_table *table, uint32_t index, uint64_t *start,
				uint64_t *fde)
{
	int32_t entry[2];
	int err = elf_image_read_address(table->image,
					 table->header + HEADER_BYTES + index * sizeof(entry),
					 entry, sizeof(entry));

	if (err)
		return err;
	*start = table->header + (uint64_t)(int64_t)entry[0];
	*fde = table->header + (uint64_t)(int64_t)entry[1];
	return 0;
}

int function_table_find(const struct function_table *table, uint64_t address,
			struct code_range *range)
{
	uint32_t low = 0, high = table->count;
	uint64_t start, fde;
	/* The FDE's length, CIE, start (relative to the field) and size, 4 bytes each. */
	int32_t words[4];
	int err;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		err = function_table_entry(table, middle, &start, &fde);
		if (err)
			return err;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	err = function_table_entry(table, low - 1, &start, &fde);
	if (!err)
		err = elf_image_read_address(table->image, fde, words, sizeof(words));
	if (err)
		return err;
	if (fde + 8 + (uint64_t)(int64_t)words[2] != start || words[3] <= 0 ||
	    address - start >= (uint32_t)words[3])
		return -ENOENT;
	*range = (struct code_range){ .start = start, .end = start + (uint32_t)words[3] };
	return 0;
}
