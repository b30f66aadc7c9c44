/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a file has for names, in lines for people: its ids, its debug file, symbols, units of DWARF by version,
 * and what these lead to: dwz's common file, split units. Of DWARF only the heads of units are read, by a reader
 * of our own, so that hostile files cost no more than their bytes.
 */
#ifndef SYMBOLS_FILE_REPORT_H
#define SYMBOLS_FILE_REPORT_H

#include <stdio.h>

#include "lib/elf/debug_file.h"

enum {
	/** Of .debug_info, unpacked. */
	FILE_REPORT_MAX_BYTES = 1 << 30,
	DWARF_VERSION_MAX = 5,
};

/** Units in .debug_info. */
struct unit_counts {
	/** By version; 0: of others. */
	uint64_t of_version[DWARF_VERSION_MAX + 1];
	/** Of them, of DWARF 5, that are skeletons of split ones. */
	uint64_t skeletons;
	/** What lies behind these cannot be read. */
	bool is_damaged;
};

/** Counts units by their heads (DWARF 5, section 7.5.1). @bytes: .debug_info. */
void unit_counts_read(struct unit_counts *counts, const void *bytes, size_t size);

/**
 * Prints of @image and of @debug, its debug file, or NULL. @path: of the file, as a user wrote it; @search: where
 * what debug data name may be.
 */
void file_report_print(FILE *output, const char *path, const struct elf_image *image,
		       const struct elf_image *debug, const struct debug_file_search *search);

#endif
