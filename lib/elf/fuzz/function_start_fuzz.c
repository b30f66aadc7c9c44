/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of functions: a function that is found contains the address that was looked up. The input is the
 * table, from .eh_frame_hdr on; without its first byte's low bit the header is corrected. Behind FRAMES it is
 * .eh_frame of a file without a table.
 */
#include "lib/elf/function_start.h"

#include <stdlib.h>

#include "lib/elf/tests/elf_builder.h"

enum { TABLE_OFFSET = 0x1000, TABLE_MAX_BYTES = 0x1000, STEP = 61, FRAMES = 0xef };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_table(struct elf_builder *builder, const uint8_t *data, size_t size)
{
	*built_segment(builder, 1) = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
						   .p_offset = TABLE_OFFSET,
						   .p_vaddr = BUILT_ADDRESS + TABLE_OFFSET,
						   .p_filesz = size,
						   .p_memsz = size };
	memcpy(builder->bytes + TABLE_OFFSET, data, size);
	if (!(data[0] & 1)) {
		memcpy(builder->bytes + TABLE_OFFSET, "\x01\x1b\x03\x3b", 4);
		/* Keeps the count small. */
		memset(builder->bytes + TABLE_OFFSET + 9, 0, 3);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_builder builder;
	struct function_starts starts;
	struct elf_image image;
	uint64_t last = 0, above;

	if (!size || size > TABLE_MAX_BYTES)
		return 0;
	elf_builder_init(&builder, 2);
	if (data[0] == FRAMES) {
		elf_builder_add(&builder, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, data + 1, size - 1);
		elf_builder_finish(&builder);
	} else {
		put_table(&builder, data, size);
	}
	if (elf_image_init_memory(&image, builder.bytes, BUILT_BYTES))
		abort();
	for (uint64_t address = BUILT_ADDRESS; address < BUILT_ADDRESS + BUILT_BYTES;
	     address += STEP) {
		uint64_t start;

		if (!function_start(&image, address, &start) &&
		    (start > address || address - start >= UINT32_MAX))
			abort();
	}
	if (!function_starts_init(&starts, &image))
		while ((above = function_starts_above(&starts, last)) != UINT64_MAX) {
			if (above <= last)
				abort();
			last = above;
		}
	elf_image_deinit(&image);
	return 0;
}
