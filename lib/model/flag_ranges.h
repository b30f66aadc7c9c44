/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Marks the rows of parts of a file's code, such as the loop of an interpreter, after the rows were
 * made or came out of the disk cache: what is kept there depends on the file's tables alone.
 */
#ifndef LIB_MODEL_FLAG_RANGES_H
#define LIB_MODEL_FLAG_RANGES_H

#include <stdint.h>

#include "lib/model/stack_deltas.h"

/** ELF virtual addresses [start, end). */
struct code_range {
	uint64_t start;
	uint64_t end;
};

/**
 * Sets @flag (enum rule_flag) in the rule of every address in @ranges, which are sorted and do not
 * overlap, and of no other one; else each address keeps its rule. Where rows say CFA_NONE, the step of
 * @language is asked instead (CFA_LANGUAGE; enum frame_kind, 0: it is not). Addresses outside of the pages
 * have no rule and get none; empty ranges are fine. -E2BIG if there are too many rules then, -ENOMEM,
 * -EINVAL for ranges that are not sorted; @deltas are untouched then.
 */
int stack_deltas_flag_ranges(struct stack_deltas *deltas, const struct code_range *ranges,
			     uint32_t count, uint8_t flag, uint8_t language);

#endif
