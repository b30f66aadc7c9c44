/* SPDX-License-Identifier: Apache-2.0 */
/** Functions by their number of samples. Errors have a text for users. */
#ifndef VIEWER_API_TOP_H
#define VIEWER_API_TOP_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_top(struct question *question, json_t *object);

/** Like answer_top(), with at most @limit rows. */
int top_json(struct question *question, uint64_t limit, json_t *object);

#endif
