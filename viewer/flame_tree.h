/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Merged stacks as the tree of a flame graph: below the root the outermost frames, and each frame
 * once below its caller. A tree can hold two sets of samples, for comparison.
 */
#ifndef VIEWER_FLAME_TREE_H
#define VIEWER_FLAME_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "viewer/stack_order.h"

#define FLAME_ROOT_ID UINT32_MAX

struct flame_node {
	/** Index of the parent node; 0 for the root too. */
	uint32_t parent;
	/** The frame's id; FLAME_ROOT_ID for the root. */
	uint32_t id;
	/** Samples that end in this node, and samples that include its callees. */
	uint64_t self;
	uint64_t total;
	uint64_t base_self;
	uint64_t base_total;
	/** Nodes below this one that were left out, without those that a kept callee has. */
	uint64_t pruned;
};

VECTOR_DEFINE(flame_node_vector, struct flame_node)

/** Nodes in depth-first order, the root first; the children of a node are ordered by rank. */
struct flame_tree {
	struct flame_node_vector nodes;
	/** Nodes that were left out, and their samples. */
	uint64_t pruned_nodes;
	uint64_t pruned_samples;
};

/**
 * Makes the tree of @stacks; @ranks has each id's position in the order, and no two have the same. If
 * there are more than @max_nodes nodes, those with the fewest samples are left out, of equal ones
 * the deepest; their samples still count in the totals of their callers. -ENOMEM.
 */
int flame_tree_init(struct flame_tree *tree, const struct flame_stack_vector *stacks,
		    const uint32_t *ranks, size_t max_nodes);
void flame_tree_deinit(struct flame_tree *tree);

#endif
