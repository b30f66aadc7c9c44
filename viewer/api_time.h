/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples over time: the time line, and the heat map of fractions of seconds. Errors have a text
 * for users.
 */
#ifndef VIEWER_API_TIME_H
#define VIEWER_API_TIME_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_timeline(struct question *question, json_t *object);
int answer_heatmap(struct question *question, json_t *object);

#endif
