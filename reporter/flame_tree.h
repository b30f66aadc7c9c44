/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Merged stacks as a tree, as flame graphs draw it: below the root the processes, below those the frames from the
 * outermost on, each once below its caller.
 */
#ifndef REPORTER_FLAME_TREE_H
#define REPORTER_FLAME_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/vector.h"
#include "reporter/stack_counts.h"

#define FLAME_ROOT_TEXT UINT32_MAX

struct flame_node {
	/** Nodes by number; of the root 0, too. */
	uint32_t parent;
	/** Of stack_counts; FLAME_ROOT_TEXT. */
	uint32_t text;
	/** Samples that end here, and with all that is called. */
	uint64_t self;
	uint64_t total;
};

VECTOR_DEFINE(flame_node_vector, struct flame_node)

/** Nodes in depth-first order, the root first; the children of a node in the order of their texts. */
struct flame_tree {
	struct flame_node_vector nodes;
};

/**
 * Makes the tree of @counts. Where it has more than @max_nodes nodes, those with the fewest samples are left out,
 * which stay in the totals of their callers. -ENOMEM.
 */
int flame_tree_init(struct flame_tree *tree, const struct stack_counts *counts, size_t max_nodes);
void flame_tree_deinit(struct flame_tree *tree);

#endif
