/* SPDX-License-Identifier: Apache-2.0 */
/** How good stacks and names are, and what would improve them. Errors have a text for users. */
#ifndef VIEWER_API_QUALITY_H
#define VIEWER_API_QUALITY_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_quality(struct question *question, json_t *object);

#endif
