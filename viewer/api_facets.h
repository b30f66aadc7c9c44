/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The values of each filter. The list of a filter is not narrowed by the filter itself. Errors have
 * a text for users.
 */
#ifndef VIEWER_API_FACETS_H
#define VIEWER_API_FACETS_H

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_facets(struct question *question, json_t *object);

#endif
