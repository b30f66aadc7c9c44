/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the code of CPython's eval loop in an executable. Compilers split it into a hot and a cold part. The cold part
 * may be much larger, and a stripped file does not say to which function it belongs.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LOOP_H
#define INTERPRETERS_PYTHON_PYTHON_LOOP_H

#include "interpreters/language.h"
#include "lib/elf/elf_image.h"

enum {
	/** Limit of functions that the loop jumps to and that are read; together they have at most the size of one. */
	PYTHON_LOOP_MAX_CANDIDATES = 64,
	/** Limit of jump targets whose function is looked up. */
	PYTHON_LOOP_MAX_LOOKUPS = 2048,
};

/**
 * Finds the ranges of the function at [@start, @end): the function itself, and parts that it jumps to and that jump
 * back into the middle of it, as no other function does. Sorted, and not overlapping. -EBADMSG if there is no such
 * code.
 */
int python_loop_find_ranges(const struct elf_image *image, uint64_t start, uint64_t end,
			    struct code_range ranges[LOOP_RANGES_MAX], uint32_t *count);

/** Finds python_process.saved_bytes for a loop that starts at @start, up to 3.10; 0 if it is unknown. */
uint8_t python_loop_saved_bytes(const struct elf_image *image, uint64_t start);

#endif
