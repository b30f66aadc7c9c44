/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the flame graph that the page exports as HTML, and that -output profile.html is: the tree in it is an answer of
 * /api/flame (viewer/page/API.md). The text is hostile.
 */
#ifndef VIEWER_OPEN_OPEN_PAGE_H
#define VIEWER_OPEN_OPEN_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "viewer/open/opened_samples.h"

/** True if the page has such a tree. */
bool is_exported_page(const char *text, size_t count);

/**
 * Adds the samples to *@opened; @text ends with a NUL at @count and is changed. -EBADMSG or -E2BIG with a text for users, or
 * -ENOMEM.
 */
int open_page(char *text, size_t count, struct opened_samples *opened);

#endif
