/* SPDX-License-Identifier: Apache-2.0 */
/** The tree of merged stacks (reporter/stack_counts.h), for outputs that show a flame graph. */
#ifndef VIEWER_COUNTS_TREE_H
#define VIEWER_COUNTS_TREE_H

#include "reporter/stack_counts.h"
#include "viewer/flame_tree.h"

/** Children are in the order of their texts. -ENOMEM; deinit after success. */
int counts_tree_init(struct flame_tree *tree, const struct stack_counts *counts, size_t max_nodes);

/**
 * The length of the text @id without its suffix, such as "_[k]", where kind and flags express what that says.
 */
size_t counts_tree_name_length(const struct stack_counts *counts, uint32_t id);

#endif
