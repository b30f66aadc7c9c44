/* SPDX-License-Identifier: Apache-2.0 */
/** Reads a profile from a file: pprof, folded stacks or OTLP, detected by the content. */
#ifndef VIEWER_OPEN_OPEN_FILE_H
#define VIEWER_OPEN_OPEN_FILE_H

#include "viewer/open/opened_samples.h"

/**
 * Fills *@opened, which is zeroed and needs a deinit in any case. -EINVAL with a text for users,
 * -ENOMEM.
 */
int open_file(const char *path, struct opened_samples *opened);

/**
 * Like open_file(), for @count bytes with room for a NUL after them. Error texts do not name a
 * file.
 */
int open_bytes(char *bytes, size_t count, struct opened_samples *opened);

#endif
