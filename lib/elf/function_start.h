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

#endif
