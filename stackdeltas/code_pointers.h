/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Addresses of bare code that the data of a file contains: in tables of functions, which often are the only trace of
 * functions that are called by pointer. The code at the entry point has the address of main(). Some are targets of jumps, and some only numbers that look alike; the analysis
 * of code decides (code_analysis.h).
 */
#ifndef STACKDELTAS_CODE_POINTERS_H
#define STACKDELTAS_CODE_POINTERS_H

#include "stackdeltas/bare_code.h"

enum {
	/** Limit of the data and of the relocations that are read of a file, each. */
	CODE_POINTERS_MAX_BYTES = 32 << 20,
};

/**
 * Sets the pointers of @code: relative relocations, aligned words of the segments that are not executable, and, on
 * x86-64, addresses that the code at the entry point loads. What cannot be read is left out. -ENOMEM.
 */
int code_pointers_read(const struct elf_image *image, struct bare_code *code);

#endif
