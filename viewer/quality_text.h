/* SPDX-License-Identifier: Apache-2.0 */
/** The page of stack quality (viewer/page/API.md) as text for a terminal. */
#ifndef VIEWER_QUALITY_TEXT_H
#define VIEWER_QUALITY_TEXT_H

#include "lib/base/text_builder.h"
#include "viewer/api.h"

/** Appends processes and binaries, those with most to mend first. -ENOMEM. */
int quality_text_append(struct api *api, struct text_builder *text);

#endif
