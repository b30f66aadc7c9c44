/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stacks as lists of numbers: whoever lists them says what number a function at its place has, and is asked once
 * for each address of native code.
 */
#ifndef REPORTER_STACK_NUMBERS_H
#define REPORTER_STACK_NUMBERS_H

#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

/** All zero but the first three is fresh. */
struct stack_numbers {
	/** May be NULL. */
	struct symbol_lookup *lookup;
	/** -ENOMEM. @name is borrowed for the call. */
	int (*number)(void *context, const struct named_frame *name, uint32_t *number);
	void *context;
	/** Of a native frame: first << 8 | count of its numbers in expansions. */
	struct hash_map native_frames;
	struct number_vector expansions;
};

void stack_numbers_deinit(struct stack_numbers *numbers);

/** Appends the numbers of @trace to @stack, outermost first. -ENOMEM. */
int stack_numbers_append(struct stack_numbers *numbers, const struct trace *trace,
			 struct number_vector *stack);

#endif
