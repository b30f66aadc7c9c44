/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Turns stacks into lists of numbers. A callback gives the number of each function; it is called
 * once per address of native code.
 */
#ifndef REPORTER_STACK_NUMBERS_H
#define REPORTER_STACK_NUMBERS_H

#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

/** Initialize with zeros and set the first three fields. */
struct stack_numbers {
	/** May be NULL. */
	struct symbol_lookup *lookup;
	/** -ENOMEM. @name is borrowed for the call. */
	int (*number)(void *context, const struct named_frame *name, uint32_t *number);
	void *context;
	/**
	 * Maps a native frame to the index of its first number in expansions << 8 | their count.
	 */
	struct hash_map native_frames;
	struct number_vector expansions;
};

void stack_numbers_deinit(struct stack_numbers *numbers);

/** Appends the numbers of @trace to @stack, outermost first. -ENOMEM. */
int stack_numbers_append(struct stack_numbers *numbers, const struct trace *trace,
			 struct number_vector *stack);

#endif
