/* SPDX-License-Identifier: Apache-2.0 */
/** The search for names among all selected samples. Errors have a text for users. */
#ifndef VIEWER_API_SEARCH_H
#define VIEWER_API_SEARCH_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_search(struct question *question, json_t *object);

#endif
