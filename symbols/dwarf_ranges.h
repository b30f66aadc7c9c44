/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DWARF 2 to 5 by libdw into a range file: functions, what is inlined into them, files and lines. One
 * pass over all DIEs and line rows, unit by unit; never one of libdw's walks for an address, which take
 * milliseconds. Split units are read from .dwo files, and what dwz has moved from its common file.
 *
 * libdw maps the file and keeps what it has read: so it is begun anew every some units, and the pages of
 * the mapping are given back. A file that is truncated meanwhile ends the process: foreign
 * ones are read by a process of its own only (symbols/range_maker.h).
 */
#ifndef SYMBOLS_DWARF_RANGES_H
#define SYMBOLS_DWARF_RANGES_H

#include "agent/host/elf_image.h"
#include "symbols/range_writer.h"

enum {
	/** What compressed sections may become, as a multiple of their bytes; 10 is much in real files. */
	DWARF_MAX_EXPANSION = 64,
};

/** The most that all compressed sections of a file may become. */
#define DWARF_MAX_UNPACKED_BYTES (2ULL << 30)

/**
 * For a process of its own: @provide is called before libdw opens the file of the split unit @id, and may
 * take care that it finds it. It returns the bytes of memory that stay taken while the file is open.
 */
void dwarf_ranges_provide_split(uint64_t (*provide)(uint64_t id));

/**
 * Adds what the DWARF of @image, a file, says to @writer. -ENOENT without any, -EBADMSG if it is
 * damaged (what was found before stays), -E2BIG over a limit, -ENOMEM.
 */
int dwarf_ranges_add(struct range_writer *writer, const struct elf_image *image);

#endif
