/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Functions of a stripped Go program from Go's own table. They name the program's code after its
 * file is gone; while the file exists, go_symbols.h knows more.
 */
#ifndef SYMBOLS_BUILD_GO_FUNCTIONS_H
#define SYMBOLS_BUILD_GO_FUNCTIONS_H

#include "lib/elf/elf_image.h"
#include "symbols/cache/intervals.h"
#include "symbols/cache/string_table.h"

/**
 * The section with the table; NULL if there is none, or if a symbol table has the same functions.
 */
const struct elf_section *go_functions_section(const struct elf_image *image);

/**
 * Adds the functions of go_functions_section(), if it exists; of a damaged table, those before the
 * damage. -ENOMEM, -E2BIG.
 */
int go_functions_add(const struct elf_image *image, struct interval_vector *intervals,
		     struct string_table *strings);

#endif
