/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of the C functions behind Perl's subs (XS), which are local symbols that Debian strips. A module's boot_NAME() passes the
 * name and the address of each to newXS_deffile(), newXS_flags() or newXS() (perl's embed.fnc), so its code tells them.
 */
#ifndef SYMBOLS_BUILD_PERL_FUNCTIONS_H
#define SYMBOLS_BUILD_PERL_FUNCTIONS_H

#include <stdbool.h>

#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"
#include "symbols/cache/intervals.h"
#include "symbols/cache/string_table.h"

/** Whether a dynamic symbol of this name may be a module's boot function. */
bool perl_functions_is_boot(const char *name);

/**
 * Adds the functions that the code in @boot registers, by the names of their subs: "List::Util::first"; of several subs of one
 * function up to four, as "List::Util::sum/sum0". Only functions that have an FDE count. Nothing is added where the file has local
 * symbols, or is not of x86-64. -ENOMEM, -E2BIG.
 */
int perl_functions_add(const struct elf_image *image, struct code_range boot, uint32_t order,
		       struct interval_vector *intervals, struct string_table *strings);

#endif
