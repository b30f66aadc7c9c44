/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads one unit of DWARF into a symbol cache: its functions, the functions inlined into them, and
 * its lines.
 */
#ifndef SYMBOLS_DWARF_DWARF_UNIT_H
#define SYMBOLS_DWARF_DWARF_UNIT_H

#include <elfutils/libdw.h>

#include "lib/base/text_builder.h"
#include "symbols/cache/symbol_cache_writer.h"
#include "symbols/dwarf/dwarf_names.h"

/** The state that is shared by units, which are read one after the other. */
struct dwarf_reader {
	/** Borrowed. */
	struct symbol_cache_writer *writer;
	struct dwarf_names names;
	/** Ranges in all units; over a limit, reading of the file ends. */
	uint64_t range_count;
	/** Rows that libdw has cached since it was started; the user resets it to 0. */
	uint64_t line_count;
	/** The directory of the current unit's relative paths, borrowed, or NULL. */
	const char *folder;
	/** Reused memory. */
	struct interval_vector intervals;
	/** The unit's own address ranges, sorted; empty: unknown. */
	struct interval_vector parts;
	struct offset_vector files;
	struct text_builder path;
};

void dwarf_reader_deinit(struct dwarf_reader *reader);

/**
 * Adds the lines of @unit, and its functions. If @unit is a skeleton, the functions are those of
 * @split, which is otherwise NULL. Damage loses the rest of the unit: -EBADMSG. -E2BIG, -ENOMEM.
 */
int dwarf_reader_add_unit(struct dwarf_reader *reader, Dwarf_Die *unit, Dwarf_Die *split);

#endif
