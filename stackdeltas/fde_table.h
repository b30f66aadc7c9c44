/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All FDEs of a file in the order of their addresses, with the CIEs that they share, from .eh_frame
 * and from sections that are trusted less: of those, functions are taken that no earlier section
 * describes. Linkers write FDEs nearly, but not quite, in the order of addresses; the table that
 * they add in .eh_frame_hdr is not relied upon.
 */
#ifndef STACKDELTAS_FDE_TABLE_H
#define STACKDELTAS_FDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/delta_problem.h"
#include "stackdeltas/eh_frame.h"
#include "stackdeltas/unwind_input.h"

enum {
	FDE_TABLE_MAX_CIES = 1 << 16,
	FDE_TABLE_MAX_FDES = 1 << 22,
	/** .eh_frame, .debug_frame, two of .gnu_debugdata, one of the debug file. */
	FDE_TABLE_MAX_SECTIONS = 5,
};

struct shared_cie {
	/** False: it was no good, and so are its FDEs. */
	bool is_usable;
	/** Index into sections. */
	uint8_t section;
	struct cie cie;
	struct cfa_defaults defaults;
};

/** Kept small: sorting moves it. */
struct fde_record {
	/** Address and length of the function, from the table's base. */
	uint32_t start;
	uint32_t length;
	/** Offsets in the section. */
	uint32_t instructions;
	uint32_t instructions_end;
	/** Index into cies. */
	uint32_t cie;
};

VECTOR_DEFINE(shared_cie_vector, struct shared_cie)
VECTOR_DEFINE(fde_record_vector, struct fde_record)

struct fde_table {
	/** Start of the first executable segment. */
	uint64_t base;
	/** In the order of trust. Bytes are borrowed for the life of the table. */
	uint32_t section_count;
	struct eh_frame sections[FDE_TABLE_MAX_SECTIONS];
	struct shared_cie_vector cies;
	/** Sorted by start, equal starts in the order of the file. Each lies in one segment. */
	struct fde_record_vector fdes;
	/** From a CIE's section and offset to its index. */
	struct hash_map cie_by_offset;
	/** Entries read so far. */
	uint32_t entry_count;
};

/**
 * Reads all FDEs of the .eh_frame of @input that have a length, if it has one. Bad ones go to
 * @report. -E2BIG over a limit above, -ENOENT without executable segment, -ENOMEM. The caller
 * deinits in any case.
 */
int fde_table_init(struct fde_table *table, const struct unwind_input *input,
		   struct delta_report *report);
void fde_table_deinit(struct fde_table *table);

/**
 * Adds the FDEs of @section that start where none does and no other reaches; they end where the
 * next one of another section starts. Errors as above.
 */
int fde_table_add(struct fde_table *table, const struct unwind_input *input,
		  const struct eh_frame *section, struct delta_report *report);

#endif
