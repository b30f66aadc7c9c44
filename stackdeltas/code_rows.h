/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rows of code that no table describes, kept until the extractor reaches their addresses. A row
 * has eight bytes, since the builder interns its rule at once.
 */
#ifndef STACKDELTAS_CODE_ROWS_H
#define STACKDELTAS_CODE_ROWS_H

#include <stdint.h>

#include "lib/base/vector.h"
#include "stackdeltas/bare_code.h"
#include "stackdeltas/delta_builder.h"

struct code_row {
	/** Distance from the builder's text_start. */
	uint32_t distance;
	/** The rule's id in the builder. */
	uint32_t id;
};

VECTOR_DEFINE(code_row_vector, struct code_row)

/** Rows, ascending by distance. The gap between two ranges has a row of its own, without rule. */
struct code_rows {
	struct code_row_vector rows;
	/** Index of the first row that code_rows_add() has not passed yet. */
	size_t next;
};

/**
 * Analyses @input, whose ranges are in the text of @builder. Fills @statistics. -E2BIG: too many rows, -EOPNOTSUPP:
 * another machine, -ENOMEM. The caller deinits in any case.
 */
int code_rows_init(struct code_rows *rows, const struct code_analysis_input *input,
		   struct delta_builder *builder, struct code_analysis_statistics *statistics);
void code_rows_deinit(struct code_rows *rows);

/**
 * Adds the rows of [start, end) to @builder, or one without a rule. @start must not be below the @end
 * of the last call. Errors as delta_builder_add().
 */
int code_rows_add(struct code_rows *rows, uint64_t start, uint64_t end,
		  struct delta_builder *builder);

#endif
