/* SPDX-License-Identifier: Apache-2.0 */
/** Flame graphs, and callers and callees of one function. Errors have a text for users. */
#ifndef VIEWER_API_STACKS_H
#define VIEWER_API_STACKS_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_flame(struct question *question, json_t *object);
int answer_sandwich(struct question *question, json_t *object);

/** Like answer_flame(), with at most @max_nodes nodes. */
int flame_json(struct question *question, size_t max_nodes, json_t *object);

#endif
