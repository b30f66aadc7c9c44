/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All that can be known of a file's code into a range file: its own symbols, those of
 * .gnu_debugdata, those of its separate debug file, what Go's table has of a stripped program, and the DWARF of the first of both that has any.
 */
#ifndef SYMBOLS_BUILD_MAKE_RANGES_H
#define SYMBOLS_BUILD_MAKE_RANGES_H

#include "lib/elf/debug_file.h"
#include "symbols/cache/range_writer.h"

enum range_depth {
	/** Symbols only: milliseconds, and no file is mapped. */
	RANGE_DEPTH_SYMBOLS,
	RANGE_DEPTH_FULL,
};

/**
 * Collects what is known of @image into @writer. @search: where its debug file may be, NULL for nowhere.
 * Damaged or missing sources are left out. -ENOMEM, -E2BIG.
 */
int make_ranges(const struct elf_image *image, const struct debug_file_search *search,
		enum range_depth depth, struct range_writer *writer);

/** As above with the debug file found before: @debug may be NULL. */
int make_ranges_of(const struct elf_image *image, const struct elf_image *debug,
		   enum range_depth depth, struct range_writer *writer);

#endif
