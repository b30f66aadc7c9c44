/* SPDX-License-Identifier: Apache-2.0 */
/** When samples came: the time line, and the heat map of parts of seconds. Errors have a text for users. */
#ifndef VIEWER_API_TIME_H
#define VIEWER_API_TIME_H

#include "viewer/question.h"

/** Fills @object, as viewer/page/API.md says. -EINVAL, -ENOMEM. */
int answer_timeline(struct question *question, json_t *object);
int answer_heatmap(struct question *question, json_t *object);

#endif
