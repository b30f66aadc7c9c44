/* SPDX-License-Identifier: Apache-2.0 */
/** The zoom of a flame graph: a path of functions from the outermost level on, and what is below it. */
#ifndef VIEWER_ZOOM_H
#define VIEWER_ZOOM_H

#include "viewer/stack_set.h"

/**
 * Adds to @set, which is empty, the stacks below the last function of @path, cut behind it, and sets the callers
 * that the path has. @path is ids (viewer/function_id.h) with dots between them; if no stack has all
 * of it, its longest beginning that a stack has: with an empty one all stacks. Sets @steps to the number of functions of that.
 * -EINVAL with a text for users, -ENOMEM.
 */
int zoom_in(struct stack_set *set, const struct asked_stacks *asked,
	    const struct question *question, const char *path, size_t *steps);

#endif
