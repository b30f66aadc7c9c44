/* SPDX-License-Identifier: Apache-2.0 */
/** Decompresses gzip, with all its members. */
#ifndef VIEWER_OPEN_GUNZIP_H
#define VIEWER_OPEN_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>

bool is_gzip(const char *bytes, size_t count);

/**
 * The decompressed content, at most @max_bytes, malloc'ed with room for a NUL after it. -EBADMSG
 * with a text for users if the input is damaged or too large, -ENOMEM.
 */
int gunzip(const char *packed, size_t packed_count, size_t max_bytes, char **bytes, size_t *count);

#endif
