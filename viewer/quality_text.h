/* SPDX-License-Identifier: Apache-2.0 */
/** The stack quality page (viewer/page/API.md) as text for a terminal. */
#ifndef VIEWER_QUALITY_TEXT_H
#define VIEWER_QUALITY_TEXT_H

#include "lib/base/text_builder.h"
#include "viewer/api.h"

/** Appends processes and binaries, those with the most to improve first. -ENOMEM. */
int quality_text_append(struct api *api, struct text_builder *text);

#endif
