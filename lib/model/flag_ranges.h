/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Flags the rows of parts of a file's code, such as the eval loop of an interpreter. This is done after the
 * rows were made or read from the disk cache, since cached rows depend on the file's tables alone.
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
 * Sets @flag (enum rule_flag) in the rule of every address in @ranges, which are sorted and do not overlap. All
 * other addresses keep their rules. CFA_NONE in these ranges becomes CFA_LANGUAGE, so that the step of
 * @language (enum frame_kind) is used; with 0 it stays. Addresses outside of the pages have no rule and get
 * none; empty ranges are fine. -E2BIG if there would be too many rules, -ENOMEM, -EINVAL for ranges that are
 * not sorted; @deltas are untouched on errors.
 */
int stack_deltas_flag_ranges(struct stack_deltas *deltas, const struct code_range *ranges,
			     uint32_t count, uint8_t flag, uint8_t language);

#endif
