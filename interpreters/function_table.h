/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The functions of an executable, stripped or not, from the search table of .eh_frame_hdr (Linux Standard Base 5.0,
 * "Exception Frames"). Compilers emit a description (FDE) for each function, and another one for its cold part.
 */
#ifndef INTERPRETERS_FUNCTION_TABLE_H
#define INTERPRETERS_FUNCTION_TABLE_H

#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"

/** The image is borrowed. Nothing to free. */
struct function_table {
	const struct elf_image *image;
	uint64_t header;
	uint32_t count;
};

/** -ENOENT if there is no table, or not in the form that linkers write; -EBADMSG. */
int function_table_init(struct function_table *table, const struct elf_image *image);

/** Finds the range of the FDE that covers @address; -ENOENT if none does, -EBADMSG. */
int function_table_find(const struct function_table *table, uint64_t address,
			struct code_range *range);

#endif
