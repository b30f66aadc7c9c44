/* SPDX-License-Identifier: Apache-2.0 */
/** CPUs as lanes: which rows of the table of processes each of them ran. Errors have a text for users. */
#ifndef VIEWER_API_LANES_H
#define VIEWER_API_LANES_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_lanes(struct question *question, json_t *object);

#endif
