/* SPDX-License-Identifier: Apache-2.0 */
/** Exports the selected samples in the formats that -output writes. */
#ifndef VIEWER_API_EXPORT_H
#define VIEWER_API_EXPORT_H

#include "viewer/question.h"

/** Fills *@answer. -EINVAL with a text for users, -ENOMEM. */
int answer_export(struct question *question, struct api_answer *answer);

/** Where the samples come from, as far as it is known: pairs of texts, such as ["host", "box"]. */
json_t *about_json(const struct question *question);

#endif
