/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The code of CPython's loop in an executable: compilers split it into a part that is often run
 * and a cold one, which may be the larger by far, and of which stripped files do not say whose it is.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LOOP_H
#define INTERPRETERS_PYTHON_PYTHON_LOOP_H

#include "interpreters/language.h"
#include "lib/elf/elf_image.h"

enum {
	/** Other functions that the loop jumps to and are looked at; no more bytes in all than of one. */
	PYTHON_LOOP_MAX_CANDIDATES = 64,
	/** Places that the loop jumps to of which the function is looked for. */
	PYTHON_LOOP_MAX_LOOKUPS = 2048,
};

/**
 * The ranges of the function at [@start, @end): itself, and parts that it jumps to and that jump back
 * into its midst, as no other function does. Sorted, and none overlaps another. -EBADMSG if there is
 * no such code.
 */
int python_loop_find_ranges(const struct elf_image *image, uint64_t start, uint64_t end,
			    struct code_range ranges[LOOP_RANGES_MAX], uint32_t *count);

/** python_process.saved_bytes of a loop that is entered at @start, up to 3.10; 0 if it is not known. */
uint8_t python_loop_saved_bytes(const struct elf_image *image, uint64_t start);

#endif
