/* SPDX-License-Identifier: Apache-2.0 */
/** Flame graphs, and callers and callees of one function. Errors have a text for users. */
#ifndef VIEWER_API_STACKS_H
#define VIEWER_API_STACKS_H

#include "viewer/question.h"

/** Fills @object, as viewer/page/API.md says. -EINVAL, -ENOMEM. */
int answer_flame(struct question *question, json_t *object);
int answer_sandwich(struct question *question, json_t *object);

/** The same as answer_flame(), with so many nodes at most. */
int flame_json(struct question *question, size_t max_nodes, json_t *object);

#endif
