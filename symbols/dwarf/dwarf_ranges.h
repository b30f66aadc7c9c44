/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DWARF 2 to 5 by libdw into a range file: functions, what is inlined into them, files and lines. One
 * pass over all DIEs and line rows, unit by unit; never one of libdw's walks for an address, which take
 * milliseconds. Sections that are compressed are unpacked before (symbols/dwarf/unpacked_elf.h). Split units are read from .dwo files, and what dwz has moved from its common file.
 *
 * libdw maps the file and keeps what it has read: so it is begun anew every some units, and the pages of
 * the mapping are given back. A file that is truncated meanwhile ends the process: foreign
 * ones are read by a process of its own only (symbols/build/range_maker.h).
 */
#ifndef SYMBOLS_DWARF_DWARF_RANGES_H
#define SYMBOLS_DWARF_DWARF_RANGES_H

#include "lib/elf/elf_image.h"
#include "symbols/cache/range_writer.h"

/**
 * For a process of its own: @provide is called before libdw opens the file of the split unit @id, and may
 * take care that it finds it. It returns the bytes of memory that stay taken while the file is open.
 */
void dwarf_ranges_provide_split(uint64_t (*provide)(uint64_t id));

/**
 * For a process of its own: @provide makes the file that is read in place of @image, if that has compressed sections, as
 * unpacked_elf_make() does.
 */
void dwarf_ranges_provide_unpacked(int (*provide)(const struct elf_image *image, int *fd));

/**
 * Adds what the DWARF of @image, a file, says to @writer. -ENOENT without any, -EBADMSG if it is
 * damaged (what was found before stays), -E2BIG over a limit, -ENOSPC without room for what is compressed, -ENOMEM.
 */
int dwarf_ranges_add(struct range_writer *writer, const struct elf_image *image);

#endif
