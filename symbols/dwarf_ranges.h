/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DWARF 2 to 5 by libdw into a range file: functions, what is inlined into them, files and lines. One
 * pass over all DIEs and line rows, unit by unit; never one of libdw's walks for an address, which take
 * milliseconds. Split units are read from .dwo files, and what dwz has moved from its common file.
 *
 * libdw maps the file and keeps what it has read: so it is begun anew every some units, and the pages of
 * the mapping are given back. A file that is truncated meanwhile ends the process: foreign
 * ones are read by a process of its own only.
 */
#ifndef SYMBOLS_DWARF_RANGES_H
#define SYMBOLS_DWARF_RANGES_H

#include "symbols/range_writer.h"

/**
 * Adds what the DWARF in the ELF file @fd says to @writer. -ENOENT without any, -EBADMSG if it is
 * damaged (what was found before stays), -E2BIG over a limit, -ENOMEM.
 */
int dwarf_ranges_add(struct range_writer *writer, int fd);

#endif
