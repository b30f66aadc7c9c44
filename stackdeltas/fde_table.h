/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All FDEs of a file in the order of their addresses, with the CIEs that they share. They come from
 * .eh_frame, and from less reliable sections for functions that no earlier section describes. Linkers
 * write FDEs nearly, but not quite, in the order of addresses; the table that they add in
 * .eh_frame_hdr is not used.
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
	/** False: the CIE is bad, and its FDEs cannot be used. */
	bool is_usable;
	/** Index into sections. */
	uint8_t section;
	struct cie cie;
	struct cfa_defaults defaults;
};

/** An FDE; small, since sorting moves it. */
struct fde_record {
	/** Address of the function, from the table's base; its length. */
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
	/** The most reliable section first. Bytes are borrowed for the life of the table. */
	uint32_t section_count;
	struct eh_frame sections[FDE_TABLE_MAX_SECTIONS];
	struct shared_cie_vector cies;
	/** Sorted by start, equal starts in the order of the file. Each is in one segment. */
	struct fde_record_vector fdes;
	/** Map from a CIE's section and offset to its index. */
	struct hash_map cie_by_offset;
	/** Entries read so far. */
	uint32_t entry_count;
};

/**
 * Reads all FDEs of non-zero length of the .eh_frame of @input, if there is one. Bad ones go to
 * @report. -E2BIG over a limit above, -ENOENT without executable segment, -ENOMEM. The caller
 * deinits in any case.
 */
int fde_table_init(struct fde_table *table, const struct unwind_input *input,
		   struct delta_report *report);
void fde_table_deinit(struct fde_table *table);

/**
 * Adds the FDEs of @section whose start no FDE of another section covers; they are cut where the next
 * one of another section starts. Errors as fde_table_init().
 */
int fde_table_add(struct fde_table *table, const struct unwind_input *input,
		  const struct eh_frame *section, struct delta_report *report);

#endif
