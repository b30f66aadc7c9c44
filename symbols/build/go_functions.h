/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Functions of a stripped Go program from Go's own table: what is known of it when its file is gone. While that is
 * there, go_symbols.h knows more.
 */
#ifndef SYMBOLS_BUILD_GO_FUNCTIONS_H
#define SYMBOLS_BUILD_GO_FUNCTIONS_H

#include "lib/elf/elf_image.h"
#include "symbols/cache/intervals.h"
#include "symbols/cache/string_table.h"

/** The section with the table; NULL if there is none, or a table of symbols that has the same. */
const struct elf_section *go_functions_section(const struct elf_image *image);

/** Adds what go_functions_section() has, if anything; a damaged table as far as it goes. -ENOMEM, -E2BIG. */
int go_functions_add(const struct elf_image *image, struct interval_vector *intervals,
		     struct string_table *strings);

#endif
