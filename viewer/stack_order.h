/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sorts stacks by the ranks of their frames, and finds how many frames each shares with the one before it. No frame is compared
 * twice with the same depth of others: the time is that of reading the ids once, and of sorting where stacks part.
 */
#ifndef VIEWER_STACK_ORDER_H
#define VIEWER_STACK_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

/** A stack as borrowed ids of its frames, outermost first. */
struct flame_stack {
	const uint32_t *ids;
	size_t length;
	/** Samples, and samples of the base set that they are compared with. */
	uint64_t count;
	uint64_t base_count;
};

VECTOR_DEFINE(flame_stack_vector, struct flame_stack)

struct stack_order {
	/** Indexes of the stacks in their order: by rank, and a stack before those that go on from it. */
	uint32_t *stacks;
	/** By position in the order: how many frames the stack shares with the one before it; 0 for the first. */
	uint32_t *shared;
	size_t count;
};

/** @ranks has each id's position in the order. There are at most UINT32_MAX stacks. -ENOMEM. */
int stack_order_init(struct stack_order *order, const struct flame_stack_vector *stacks,
		     const uint32_t *ranks);
void stack_order_deinit(struct stack_order *order);

#endif
