/* SPDX-License-Identifier: Apache-2.0 */
/** How good stacks and names are, and what would mend those that are not. Errors have a text for users. */
#ifndef VIEWER_API_QUALITY_H
#define VIEWER_API_QUALITY_H

#include "viewer/question.h"

/** Fills @object, as viewer/page/API.md says. -EINVAL, -ENOMEM. */
int answer_quality(struct question *question, json_t *object);

#endif
