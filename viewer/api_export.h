/* SPDX-License-Identifier: Apache-2.0 */
/** Exports the selected samples in the formats that -output writes. */
#ifndef VIEWER_API_EXPORT_H
#define VIEWER_API_EXPORT_H

#include "viewer/question.h"

/** Fills *@answer. -EINVAL with a text for users, -ENOMEM. */
int answer_export(struct question *question, struct api_answer *answer);

#endif
