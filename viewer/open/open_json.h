/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads profiles in JSON, detected by their members: speedscope files (https://www.speedscope.app/file-format-schema.json)
 * and .cpuprofile files of V8 (Profiler.Profile of the Chrome DevTools protocol).
 */
#ifndef VIEWER_OPEN_OPEN_JSON_H
#define VIEWER_OPEN_OPEN_JSON_H

#include <stddef.h>

#include "viewer/open/opened_samples.h"

/** @text ends with a NUL and is changed. -EBADMSG, -EOPNOTSUPP, -E2BIG with a text for users, -ENOMEM. */
int open_json(char *text, size_t count, struct opened_samples *opened);

#endif
