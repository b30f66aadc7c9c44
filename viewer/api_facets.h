/* SPDX-License-Identifier: Apache-2.0 */
/** What there is to choose from. A list is not narrowed by what is chosen from it. Errors have a text for users. */
#ifndef VIEWER_API_FACETS_H
#define VIEWER_API_FACETS_H

#include "viewer/question.h"

/** Fills @object, as viewer/page/API.md says. -EINVAL, -ENOMEM. */
int answer_facets(struct question *question, json_t *object);

#endif
