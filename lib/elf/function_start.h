/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the start of the function at an address by a few small reads of the sorted table in .eh_frame_hdr (LSB
 * Core 5.0, 10.6.2), which stripped files have too. Only tables as all linkers write them are read: 32-bit
 * distances from the header. In files without one, such as static programs, .eh_frame is searched, 1 MiB at
 * most. The result is the start of an FDE; a part that the compiler put elsewhere has an FDE of its own.
 */
#ifndef LIB_ELF_FUNCTION_START_H
#define LIB_ELF_FUNCTION_START_H

#include "lib/elf/elf_image.h"

/**
 * Sets *@start. -ENOENT if no FDE covers ELF virtual address @address, -EOPNOTSUPP for another kind of table,
 * -EBADMSG.
 */
int function_start(const struct elf_image *image, uint64_t address, uint64_t *start);

enum { FUNCTION_STARTS_CHUNK = 512 };

/** The starts of all functions in the table, read in ascending order. Borrows the image; nothing to free. */
struct function_starts {
	const struct elf_image *image;
	/** Address of the table's header, and the number of its entries. */
	uint64_t address;
	uint32_t count;
	/** The next entry, and the chunk that was read last: its first entry, their number, distances from the header. */
	uint32_t next;
	uint32_t chunk_first;
	uint32_t chunk_count;
	int32_t chunk[FUNCTION_STARTS_CHUNK];
};

/** Begins before the first one. -ENOENT without a table; -EOPNOTSUPP and -EBADMSG as above. */
int function_starts_init(struct function_starts *starts, const struct elf_image *image);

/**
 * Returns the first start above @address, which must not be lower than in the last call; UINT64_MAX: there is none, or the
 * table cannot be read.
 */
uint64_t function_starts_above(struct function_starts *starts, uint64_t address);

#endif
