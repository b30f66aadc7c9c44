/* SPDX-License-Identifier: Apache-2.0 */
/** Who is busy: the table of processes. Errors have a text for users. */
#ifndef VIEWER_API_PROCESSES_H
#define VIEWER_API_PROCESSES_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_processes(struct question *question, json_t *object);

#endif
