/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Merged stacks as a tree, as flame graphs draw it: below the root the frames from the outermost on, each once below
 * its caller. Two sets of samples can be in one tree, to be compared.
 */
#ifndef VIEWER_FLAME_TREE_H
#define VIEWER_FLAME_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

#define FLAME_ROOT_NUMBER UINT32_MAX

/** A stack: numbers of what its frames are, borrowed, those of the outermost first. */
struct flame_stack {
	const uint32_t *numbers;
	size_t length;
	/** Samples, and those of the set that they are compared with. */
	uint64_t count;
	uint64_t base_count;
};

VECTOR_DEFINE(flame_stack_vector, struct flame_stack)

struct flame_node {
	/** Nodes by number; of the root 0, too. */
	uint32_t parent;
	/** FLAME_ROOT_NUMBER for the root. */
	uint32_t number;
	/** Samples that end here, and with all that is called. */
	uint64_t self;
	uint64_t total;
	uint64_t base_self;
	uint64_t base_total;
};

VECTOR_DEFINE(flame_node_vector, struct flame_node)

/** Nodes in depth-first order, the root first; the children of a node in the order of their ranks. */
struct flame_tree {
	struct flame_node_vector nodes;
	/** What was left out. */
	uint64_t pruned_nodes;
	uint64_t pruned_samples;
};

/**
 * Makes the tree of @stacks, which it sorts; @ranks has the place of each number in their order. Where it has more
 * than @max_nodes nodes, those with the fewest samples are left out, which stay in the totals of their callers. -ENOMEM.
 */
int flame_tree_init(struct flame_tree *tree, struct flame_stack_vector *stacks,
		    const uint32_t *ranks, size_t max_nodes);
void flame_tree_deinit(struct flame_tree *tree);

#endif
