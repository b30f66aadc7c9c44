/* SPDX-License-Identifier: Apache-2.0 */
/** Reads profiles from files of the formats in open_file.c's error text, which are detected by their contents. */
#ifndef VIEWER_OPEN_OPEN_FILE_H
#define VIEWER_OPEN_OPEN_FILE_H

#include "viewer/open/opened_samples.h"

/**
 * Adds the profile to *@opened, which is zeroed before the first one and needs a deinit in any case. "-" is standard
 * input. -EINVAL with a text for users, -ENOMEM.
 */
int open_file(const char *path, struct opened_samples *opened);

/** Adds @count profiles, each as a part with times of its own. Errors as above. */
int open_files(char *const *paths, size_t count, struct opened_samples *opened);

/**
 * Like open_file(), for @count bytes with room for a NUL after them. Error texts do not name a
 * file.
 */
int open_bytes(char *bytes, size_t count, struct opened_samples *opened);

#endif
