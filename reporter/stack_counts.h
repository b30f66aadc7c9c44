/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples merged by the text of their stacks, over processes, threads and addresses: what the
 * folded file and the stack table print. Every text of a frame is kept once, a stack is a list of
 * their numbers, and native frames are looked up once per address.
 */
#ifndef REPORTER_STACK_COUNTS_H
#define REPORTER_STACK_COUNTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/symbol_lookup.h"
#include "reporter/sample_store.h"

/** Texts comm, root, ..., leaf, as numbers of texts. */
struct counted_stack {
	uint64_t count;
	size_t first_id;
	uint32_t id_count;
};

struct stack_counts {
	/** Most frequent first; among equals in the order of their texts. */
	struct counted_stack *stacks;
	size_t stack_count;
	/** Sum of the counts. */
	uint64_t total;
	uint32_t *ids;
	char **texts;
	size_t text_count;
};

/** Looks up all names and merges. @lookup may be NULL. -ENOMEM. */
int stack_counts_init(struct stack_counts *counts, const struct sample_snapshot *snapshot,
		      struct symbol_lookup *lookup);
void stack_counts_deinit(struct stack_counts *counts);

/** Writes the text of stack @index, without a line end; errors stay in @out (ferror()). */
void stack_counts_write_stack(const struct stack_counts *counts, size_t index, FILE *out);

#endif
