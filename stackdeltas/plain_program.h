/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The fast path for the programs of nearly all FDEs, in which every row is plain: the CFA is a
 * register and an offset, and return address, frame pointer and rbx are unchanged or in slots below
 * the CFA. Such a row fits into one word, which is the key of its rule's id.
 *
 * It has the same result as cfa_program.h with cfa_rule.h, or none: at the first instruction that is
 * not plain, or is malformed, it stops, and the slow path runs the whole program.
 */
#ifndef STACKDELTAS_PLAIN_PROGRAM_H
#define STACKDELTAS_PLAIN_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "stackdeltas/cfa_program.h"
#include "stackdeltas/cfa_rule.h"
#include "stackdeltas/delta_builder.h"
#include "stackdeltas/eh_frame.h"

enum {
	PLAIN_RULE_SHIFT = 11,
	PLAIN_RULE_COUNT = 1 << PLAIN_RULE_SHIFT,
	/** Registers that an opcode can name. */
	PLAIN_REGISTER_COUNT = 64,
};

/** For the programs of one file. Owned by one thread, owns nothing. */
struct plain_programs {
	struct delta_builder *builder;
	uint16_t machine;
	/** Mask and shift of each register's slot in a packed row; 0: the register is not followed. */
	uint64_t slot_masks[PLAIN_REGISTER_COUNT];
	uint8_t slot_shifts[PLAIN_REGISTER_COUNT];
	/** The CIE of the last program, and its packed row; 0: it is not plain. */
	const struct cfa_defaults *defaults;
	uint64_t initial_row;
	/** Hash table from packed rows to the ids of their rules; a row of 0 is a free slot. */
	uint64_t rows[PLAIN_RULE_COUNT];
	uint16_t rule_ids[PLAIN_RULE_COUNT];
};

/** @builder is borrowed; @machine is EM_X86_64 or EM_AARCH64. */
void plain_programs_init(struct plain_programs *programs, struct delta_builder *builder,
			 uint16_t machine);

/**
 * Adds the rows of the program [start, end) of @section for the function at [@distance,
 * @distance_end), counted from the text's start. @defaults must not move or change as long as
 * @programs is used. Returns 1, or 0 if the program is not plain: then the caller removes the rows that
 * were added; errors as the builder's.
 */
int plain_programs_run(struct plain_programs *programs, const struct cfa_defaults *defaults,
		       const struct eh_frame *section, size_t start, size_t end, uint64_t distance,
		       uint64_t distance_end);

#endif
