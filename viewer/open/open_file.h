/* SPDX-License-Identifier: Apache-2.0 */
/** Reads a profile out of a file: pprof, folded stacks or OTLP, as its content says. */
#ifndef VIEWER_OPEN_OPEN_FILE_H
#define VIEWER_OPEN_OPEN_FILE_H

#include "viewer/open/opened_samples.h"

/** Fills *@opened, which is zeroed, and is to be taken down in any case. -EINVAL with a text for users, -ENOMEM. */
int open_file(const char *path, struct opened_samples *opened);

/** The same of @count bytes, as open_file() but for what it says of the file; they have room for a NUL behind them. */
int open_bytes(char *bytes, size_t count, struct opened_samples *opened);

#endif
