/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One unit of DWARF into a range file: its functions with what is inlined into them, and its lines.
 */
#ifndef SYMBOLS_DWARF_DWARF_UNIT_H
#define SYMBOLS_DWARF_DWARF_UNIT_H

#include <elfutils/libdw.h>

#include "lib/base/text_builder.h"
#include "symbols/cache/range_writer.h"
#include "symbols/dwarf/dwarf_names.h"

/** What units are read with, one after the other. */
struct dwarf_reader {
	/** Borrowed. */
	struct range_writer *writer;
	struct dwarf_names names;
	/** Of all units; beyond a limit the file is given up. */
	uint64_t range_count;
	/** Rows that libdw has kept since it was begun; the user sets it to 0. */
	uint64_t line_count;
	/** Of the unit that is read: the folder that paths count from, borrowed, or NULL. */
	const char *folder;
	/** Memory that is used again. */
	struct interval_vector intervals;
	/** The parts of the text that the unit says are its own, sorted; none: it does not say. */
	struct interval_vector parts;
	struct offset_vector files;
	struct text_builder path;
};

void dwarf_reader_deinit(struct dwarf_reader *reader);

/**
 * Adds the lines of @unit, and the functions below it or, if it is the skeleton of one, below @split, which
 * is NULL else. Damage costs what is behind it in the unit: -EBADMSG. -E2BIG, -ENOMEM.
 */
int dwarf_reader_add_unit(struct dwarf_reader *reader, Dwarf_Die *unit, Dwarf_Die *split);

#endif
