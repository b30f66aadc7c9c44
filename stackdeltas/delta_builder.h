/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Builds stack deltas row by row in ascending order of address: interns rules, joins equal
 * neighbours, keeps the page index.
 */
#ifndef STACKDELTAS_DELTA_BUILDER_H
#define STACKDELTAS_DELTA_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/model/stack_deltas.h"

enum {
	/** Rules that are always there: CFA_NONE and CFA_UNSUPPORTED. */
	DELTA_RULE_NONE = 0,
	DELTA_RULE_UNSUPPORTED = 1,
	DELTA_BUILDER_MAX_ROWS = 1 << 24,
};

VECTOR_DEFINE(rule_vector, struct unwind_rule)

/** Owned by one thread. Some arrays become those of the deltas at the end. */
struct delta_builder {
	uint64_t text_start;
	uint64_t text_end;
	uint32_t page_count;
	/** Entries of page_index that stand. */
	uint32_t pages_begun;
	/** Number of the last row's rule. */
	uint32_t last_rule;
	uint32_t *page_index;
	/** Room for row_capacity rows, one array for both: offsets, and behind them rule numbers. */
	uint8_t *offsets;
	uint16_t *numbers;
	uint32_t row_count;
	uint32_t row_capacity;
	struct rule_vector rules;
	/** Hash table of rule numbers + 1, 0 is free; slot_mask + 1 slots. */
	uint32_t *slots;
	uint32_t slot_mask;
};

/** A state to go back to. */
struct delta_builder_mark {
	uint32_t pages_begun;
	uint32_t last_rule;
	uint32_t row_count;
};

/**
 * For text at [start, end), which all rows must lie in; nothing is known about its addresses until
 * the first row. -E2BIG for more text than UNWIND_MAX_PAGES; -ENOMEM. @expected_rows is a guess.
 * The caller deinits in any case.
 */
int delta_builder_init(struct delta_builder *builder, uint64_t start, uint64_t end,
		       size_t expected_rows);
void delta_builder_deinit(struct delta_builder *builder);

/** The number of @rule; DELTA_RULE_UNSUPPORTED if there are too many. -ENOMEM. */
int delta_builder_intern(struct delta_builder *builder, const struct unwind_rule *rule,
			 uint32_t *number);

/** For delta_builder_add_at(): the first row of a page, and when there is no room. */
int delta_builder_add_slow(struct delta_builder *builder, uint64_t distance, uint32_t number);

/**
 * From @distance behind text_start on, rule @number holds. @distance must be above that of the row
 * before, joined ones included. -E2BIG over DELTA_BUILDER_MAX_ROWS; -ENOMEM.
 */
static inline int delta_builder_add_at(struct delta_builder *builder, uint64_t distance,
				       uint32_t number)
{
	uint32_t row = builder->row_count;

	if (row && number == builder->last_rule)
		return 0;
	if (distance >> UNWIND_PAGE_SHIFT >= builder->pages_begun || row == builder->row_capacity)
		return delta_builder_add_slow(builder, distance, number);
	builder->last_rule = number;
	builder->numbers[row] = number;
	builder->row_count = row + 1;
	builder->offsets[row] = distance & (UNWIND_PAGE_BYTES - 1);
	return 0;
}

/** The same from ELF virtual address @address on. */
static inline int delta_builder_add(struct delta_builder *builder, uint64_t address,
				    uint32_t number)
{
	return delta_builder_add_at(builder, address - builder->text_start, number);
}

/** Takes back all rows since the mark was made; rules stay. */
struct delta_builder_mark delta_builder_mark(const struct delta_builder *builder);
void delta_builder_rollback(struct delta_builder *builder, const struct delta_builder_mark *mark);

/** Ends the text and moves the arrays to @deltas; the builder is then only good for deinit. */
int delta_builder_finish(struct delta_builder *builder, struct stack_deltas *deltas);

#endif
