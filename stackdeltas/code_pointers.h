/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Addresses of bare code in the rest of a file. Code that has unwind tables calls functions or takes their addresses,
 * as C code does with those in assembly: these are starts. Addresses that data contains are pointers: in tables of functions, which often are the only trace of
 * functions that are called by pointer. The code at the entry point has the address of main(). Some are targets of jumps, and some only numbers that look alike; the analysis
 * of code decides (code_analysis.h).
 */
#ifndef STACKDELTAS_CODE_POINTERS_H
#define STACKDELTAS_CODE_POINTERS_H

#include "stackdeltas/bare_code.h"

struct fde_table;

enum {
	/** Limit of the code, of the data and of the relocations that are read of a file, each. */
	CODE_POINTERS_MAX_BYTES = 32 << 20,
};

/** Adds the starts of @code that the code of @table shows. What cannot be read is left out. -ENOMEM. */
int code_pointers_add_starts(const struct elf_image *image, const struct fde_table *table,
			     struct bare_code *code);

/**
 * Sets the pointers of @code: relative relocations, aligned words of data, and, on x86-64, addresses that the code at
 * the entry point loads. In position-independent files only writable data has pointers. What cannot be read is left out. -ENOMEM.
 */
int code_pointers_read(const struct elf_image *image, struct bare_code *code);

#endif
