/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples merged by the text of their stacks, over processes, threads and addresses, for the folded
 * file and the stack table. Every string is stored once, a stack is a list of their ids, and
 * native frames are looked up once per address.
 */
#ifndef REPORTER_STACK_COUNTS_H
#define REPORTER_STACK_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/sample_store.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

VECTOR_DEFINE(text_vector, char *)

/** The traits of each text: those of the first frame that had it. */
VECTOR_DEFINE(text_trait_vector, struct text_trait)

struct stack_counts {
	/**
	 * The ids of the strings of comm, root, ..., leaf; most frequent first, equal counts in text
	 * order.
	 */
	struct sequence_counts stacks;
	struct text_vector strings;
	/** Indexed by id. */
	struct text_trait_vector traits;
	/** Sum of the counts. */
	uint64_t total;
};

/**
 * Looks up all names and merges the samples. @with_lines keeps stacks apart that differ in lines
 * only. @lookup may be NULL. -ENOMEM; -E2BIG if the lists of ids take more than @max_bytes: a
 * frame can have many names.
 */
int stack_counts_init(struct stack_counts *counts, const struct sample_snapshot *snapshot,
		      struct symbol_lookup *lookup, bool with_lines, size_t max_bytes);
/** The same of the samples of @origin. A weight's samples count as much as their values. */
int stack_counts_init_of(struct stack_counts *counts, const struct sample_snapshot *snapshot,
			 uint8_t origin, struct symbol_lookup *lookup, bool with_lines,
			 size_t max_bytes);
void stack_counts_deinit(struct stack_counts *counts);

/** Writes the text of @stack, without a line end; errors stay in @out (ferror()). */
void stack_counts_write_stack(const struct stack_counts *counts,
			      const struct counted_sequence *stack, FILE *out);

#endif
