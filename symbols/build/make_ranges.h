/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Collects all knowledge about a file's code into a range file: its own symbols, those of
 * .gnu_debugdata, those of its separate debug file, Go's table of a stripped program, and the DWARF
 * of the file or else of its debug file.
 */
#ifndef SYMBOLS_BUILD_MAKE_RANGES_H
#define SYMBOLS_BUILD_MAKE_RANGES_H

#include "lib/elf/debug_file.h"
#include "symbols/cache/range_writer.h"

enum range_depth {
	/** Symbols only: takes milliseconds, and maps no file. */
	RANGE_DEPTH_SYMBOLS,
	RANGE_DEPTH_FULL,
};

/**
 * Collects the data of @image into @writer. @search says where its debug file may be; NULL:
 * nowhere. Damaged or missing sources are skipped. -ENOMEM, -E2BIG.
 */
int make_ranges(const struct elf_image *image, const struct debug_file_search *search,
		enum range_depth depth, struct range_writer *writer);

/** Like make_ranges(), for a debug file that was found before: @debug may be NULL. */
int make_ranges_of(const struct elf_image *image, const struct elf_image *debug,
		   enum range_depth depth, struct range_writer *writer);

#endif
