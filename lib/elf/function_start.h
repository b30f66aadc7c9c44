/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where the function at an address begins, by the sorted table in .eh_frame_hdr (LSB Core 5.0, 10.6.2), which
 * stripped files have too: a few small reads. Only for tables as all linkers write them: 32-bit distances from
 * the header. In files without one, such as static programs, by a pass over .eh_frame, of 1 MiB at most. What is told is where an FDE begins: a part that the compiler put elsewhere has one of
 * its own.
 */
#ifndef LIB_ELF_FUNCTION_START_H
#define LIB_ELF_FUNCTION_START_H

#include "lib/elf/elf_image.h"

/**
 * -ENOENT where no FDE holds ELF virtual address @address, -EOPNOTSUPP for another kind of table,
 * -EBADMSG.
 */
int function_start(const struct elf_image *image, uint64_t address, uint64_t *start);

#endif
