/* SPDX-License-Identifier: Apache-2.0 */
/** Reads the text that `perf script` prints of samples with stacks (tools/perf/Documentation/perf-script.txt of Linux). */
#ifndef VIEWER_OPEN_OPEN_PERF_H
#define VIEWER_OPEN_OPEN_PERF_H

#include <stdbool.h>
#include <stddef.h>

#include "viewer/open/opened_samples.h"

/** True if the first lines are a sample and a frame of its stack. @text ends with a NUL. */
bool is_perf_script(const char *text, size_t count);

/** @text ends with a NUL and is changed. -EBADMSG, -E2BIG with a text for users, -ENOMEM. */
int open_perf(char *text, size_t count, struct opened_samples *opened);

#endif
