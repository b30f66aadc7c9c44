/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The stacks of function_counts.h as a tree of calls: below the root the outermost functions, each function once below
 * its caller, callees with most samples first.
 */
#ifndef REPORTER_CALL_TREE_H
#define REPORTER_CALL_TREE_H

#include "reporter/function_counts.h"

enum {
	/** The root's index, and as a child or a sibling: there is none. */
	CALL_TREE_ROOT = 0,
};

struct call_node {
	uint32_t function;
	uint64_t self;
	uint64_t total;
	/** Indexes of nodes. */
	uint32_t first_child;
	uint32_t next_sibling;
};

VECTOR_DEFINE(call_node_vector, struct call_node)

struct call_tree {
	/** The first is the root, which has no function. */
	struct call_node_vector nodes;
};

/** -ENOMEM; -E2BIG for more than @max_nodes nodes. */
int call_tree_init(struct call_tree *tree, const struct function_counts *counts, size_t max_nodes);
void call_tree_deinit(struct call_tree *tree);

#endif
