/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads DWARF 2 to 5 with libdw into a symbol cache: functions, the functions inlined into them,
 * files and lines. It makes one pass over all DIEs and line rows, unit by unit, and never uses
 * libdw's look-ups by address, which take milliseconds. Compressed sections are decompressed before
 * (symbols/dwarf/unpacked_elf.h). Split units are read from .dwo files, and data that dwz has moved
 * from its common file.
 *
 * libdw maps the file and caches what it has read. So it is restarted after some units, and the
 * pages of the mapping are released. A file that is truncated during this ends the process, so
 * foreign files are read only by a separate process (symbols/build/symbol_cache_maker.h).
 */
#ifndef SYMBOLS_DWARF_DWARF_SYMBOLS_H
#define SYMBOLS_DWARF_DWARF_SYMBOLS_H

#include "lib/elf/elf_image.h"
#include "symbols/cache/symbol_cache_writer.h"

/**
 * For a separate process: @provide is called before libdw opens the file of the split unit @id, and
 * may prepare the file so that libdw finds it. It returns the bytes of memory that are in use while
 * the file is open.
 */
void dwarf_symbols_provide_split(uint64_t (*provide)(uint64_t id));

/**
 * For a separate process: if @image has compressed sections, @provide makes the file that is read
 * instead, as unpacked_elf_make() does.
 */
void dwarf_symbols_provide_unpacked(int (*provide)(const struct elf_image *image, int *fd));

/**
 * Adds the DWARF of @image, a file, to @writer. -ENOENT without DWARF, -EBADMSG if it is damaged
 * (earlier data stays), -E2BIG over a limit, -ENOSPC without room for decompressed sections,
 * -ENOMEM.
 */
int dwarf_symbols_add(struct symbol_cache_writer *writer, const struct elf_image *image);

#endif
