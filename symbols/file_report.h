/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sources of names in a file, as lines for people: its ids, its debug file, symbols, units of
 * DWARF by version, and the files that these refer to: dwz's common file, split units. Only the
 * headers of DWARF units are read, by our own reader, so the cost of a hostile file is limited by
 * its size.
 */
#ifndef SYMBOLS_FILE_REPORT_H
#define SYMBOLS_FILE_REPORT_H

#include <stdio.h>

#include "lib/elf/debug_file.h"

enum {
	/** Limit of .debug_info, decompressed. */
	FILE_REPORT_MAX_BYTES = 1 << 30,
	DWARF_VERSION_MAX = 5,
};

/** Units in .debug_info. */
struct unit_counts {
	/** Units by version; 0: other versions. */
	uint64_t of_version[DWARF_VERSION_MAX + 1];
	/** How many of them are skeletons of split units (DWARF 5). */
	uint64_t skeletons;
	/** The units after these cannot be read. */
	bool is_damaged;
};

/** Counts units by their headers (DWARF 5, section 7.5.1). @bytes: .debug_info. */
void unit_counts_read(struct unit_counts *counts, const void *bytes, size_t size);

/**
 * Prints a report about @image and @debug, its debug file or NULL. @path is the file's path as
 * given by the user; @search says where files that debug data refers to may be.
 */
void file_report_print(FILE *output, const char *path, const struct elf_image *image,
		       const struct elf_image *debug, const struct debug_file_search *search);

#endif
