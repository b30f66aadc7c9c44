/* SPDX-License-Identifier: Apache-2.0 */
/** Functions by their samples. Errors have a text for users. */
#ifndef VIEWER_API_TOP_H
#define VIEWER_API_TOP_H

#include "viewer/question.h"

/** Fills @object, as viewer/page/API.md says. -EINVAL, -ENOMEM. */
int answer_top(struct question *question, json_t *object);

#endif
