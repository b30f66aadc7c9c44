/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Builds stack deltas row by row in ascending order of address: interns rules, joins equal
 * adjacent rows, updates the page index.
 */
#ifndef STACKDELTAS_DELTA_BUILDER_H
#define STACKDELTAS_DELTA_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/model/stack_deltas.h"

enum {
	/** Rules that always exist: CFA_NONE and CFA_UNSUPPORTED. */
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
	/** Number of entries of page_index that are set. */
	uint32_t pages_begun;
	/** Number of the last row's rule. */
	uint32_t last_rule;
	uint32_t *page_index;
	/** One array with room for row_capacity rows: the offsets, followed by the rule ids. */
	uint8_t *offsets;
	uint16_t *rule_ids;
	uint32_t row_count;
	uint32_t row_capacity;
	struct rule_vector rules;
	/** Hash table of slot_mask + 1 slots: rule id + 1, or 0 for a free slot. */
	uint32_t *slots;
	uint32_t slot_mask;
};

/** A state of the builder for delta_builder_rollback(). */
struct delta_builder_mark {
	uint32_t pages_begun;
	uint32_t last_rule;
	uint32_t row_count;
};

/**
 * Begins the deltas of the text [start, end), which must contain all rows; addresses before the first
 * row have no rule. @expected_rows is an estimate. -E2BIG for more text than UNWIND_MAX_PAGES;
 * -ENOMEM. The caller deinits in any case.
 */
int delta_builder_init(struct delta_builder *builder, uint64_t start, uint64_t end,
		       size_t expected_rows);
void delta_builder_deinit(struct delta_builder *builder);

/** Interns @rule and sets its id; DELTA_RULE_UNSUPPORTED if there are too many rules. -ENOMEM. */
int delta_builder_intern(struct delta_builder *builder, const struct unwind_rule *rule,
			 uint32_t *id);

/** The slow path of delta_builder_add_at(): for the first row of a page, and if the arrays are full. */
int delta_builder_add_slow(struct delta_builder *builder, uint64_t distance, uint32_t id);

/**
 * Adds a row: rule @id is valid from text_start + @distance on. @distance must be above that of the
 * last row, joined rows included. -E2BIG over DELTA_BUILDER_MAX_ROWS; -ENOMEM.
 */
static inline int delta_builder_add_at(struct delta_builder *builder, uint64_t distance,
				       uint32_t id)
{
	uint32_t row = builder->row_count;

	if (row && id == builder->last_rule)
		return 0;
	if (distance >> UNWIND_PAGE_SHIFT >= builder->pages_begun || row == builder->row_capacity)
		return delta_builder_add_slow(builder, distance, id);
	builder->last_rule = id;
	builder->rule_ids[row] = id;
	builder->row_count = row + 1;
	builder->offsets[row] = distance & (UNWIND_PAGE_BYTES - 1);
	return 0;
}

/** As delta_builder_add_at(), from ELF virtual address @address on. */
static inline int delta_builder_add(struct delta_builder *builder, uint64_t address, uint32_t id)
{
	return delta_builder_add_at(builder, address - builder->text_start, id);
}

/** Returns a mark, with which delta_builder_rollback() removes all later rows; rules stay. */
struct delta_builder_mark delta_builder_mark(const struct delta_builder *builder);
void delta_builder_rollback(struct delta_builder *builder, const struct delta_builder_mark *mark);

/** Ends the text and moves the arrays to @deltas; the builder is then only good for deinit. */
int delta_builder_finish(struct delta_builder *builder, struct stack_deltas *deltas);

#endif
