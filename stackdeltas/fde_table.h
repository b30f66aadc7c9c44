/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All FDEs of a .eh_frame in the order of their addresses, with the CIEs that they share. Linkers
 * write FDEs nearly, but not quite, in that order; the table that they add in .eh_frame_hdr is not
 * relied upon.
 */
#ifndef STACKDELTAS_FDE_TABLE_H
#define STACKDELTAS_FDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/hash_map.h"
#include "agent/base/vector.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/delta_problem.h"
#include "stackdeltas/eh_frame.h"
#include "stackdeltas/unwind_input.h"

enum {
	FDE_TABLE_MAX_CIES = 1 << 16,
	FDE_TABLE_MAX_FDES = 1 << 22,
};

struct shared_cie {
	/** False: it was no good, and so are its FDEs. */
	bool is_usable;
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
	struct shared_cie_vector cies;
	/** Sorted by start, equal starts in the order of the file. Each lies in one segment. */
	struct fde_record_vector fdes;
	/** From a CIE's offset to its index. */
	struct hash_map cie_by_offset;
};

/**
 * Reads all FDEs of @input that have a length. Bad ones go to @report. -E2BIG over a limit above,
 * -ENOMEM. The caller deinits in any case.
 */
int fde_table_init(struct fde_table *table, const struct unwind_input *input,
		   struct delta_report *report);
void fde_table_deinit(struct fde_table *table);

#endif
