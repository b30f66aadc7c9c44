/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads profiles of the Firefox profiler in its processed format, which samply and others write, too. Format:
 * firefox-devtools/profiler, docs-developer/processed-profile-format.md and CHANGELOG-formats.md.
 */
#ifndef VIEWER_OPEN_OPEN_FIREFOX_H
#define VIEWER_OPEN_OPEN_FIREFOX_H

#include "viewer/open/opened_json.h"

/** Adds the samples of all threads. -EBADMSG, -EOPNOTSUPP or -E2BIG with a text for users, or -ENOMEM. */
int open_firefox(struct json_reader *reader);

#endif
