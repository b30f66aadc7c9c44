/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The stacks of an answer as ids of their frames, and their tree in the form of TREE in
 * viewer/page/API.md. Errors have a text for users.
 */
#ifndef VIEWER_STACK_SET_H
#define VIEWER_STACK_SET_H

#include "viewer/flame_tree.h"
#include "viewer/question.h"

/** Stored one after the other. `starts` has their offsets until stack_set_finish(). */
struct stack_set {
	struct number_vector ids;
	struct flame_stack_vector stacks;
	struct number_vector starts;
	/**
	 * Nodes above the root of the tree, each the caller of the next one, and the id of that root; none
	 * for the tree of whole stacks.
	 */
	struct flame_node_vector callers;
	uint32_t root_id;
};

void stack_set_deinit(struct stack_set *set);

/** Reserves memory for all of @asked: for many stacks, growing by doubling would need twice of it. */
int stack_set_reserve(struct stack_set *set, const struct asked_stacks *asked);

/** Adds a stack with the counts of @stack, but without frames. -EINVAL, -ENOMEM. */
int stack_set_begin(struct stack_set *set, const struct asked_stack *stack);

/** Adds a frame to the last stack, below its other ones. -ENOMEM. */
int stack_set_push(struct stack_set *set, const struct asked_stacks *asked,
		   const struct question *question, uint32_t location);

/** The number of frames of a stack and of the levels above it. */
size_t asked_stack_length(const struct asked_stack *stack);

/** The code location at @index in the order of the tree: from the outermost level on, or if @asked is inverted from the leaf on. */
uint32_t asked_stack_location(const struct asked_stacks *asked, const struct asked_stack *stack,
			      size_t index);

/** Adds a stack without its first @first locations in that order. -EINVAL, -ENOMEM. */
int stack_set_push_from(struct stack_set *set, const struct asked_stacks *asked,
			const struct question *question, const struct asked_stack *stack,
			size_t first);

/** Sets the pointers of all stacks; none may be added afterwards. */
void stack_set_finish(struct stack_set *set);

/**
 * Adds the tree of all stacks, which are finished, to the answer as @key; @name is that of its outermost
 * node. -ENOMEM.
 */
int stack_set_put_tree(struct stack_set *set, const struct asked_stacks *asked,
		       struct question *question, size_t max_nodes, const char *name,
		       const char *key);

#endif
