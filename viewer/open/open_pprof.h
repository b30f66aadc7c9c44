/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads pprof profiles. The agent's own (reporter/pprof.h) are restored completely, others as far
 * as their data allows.
 */
#ifndef VIEWER_OPEN_OPEN_PPROF_H
#define VIEWER_OPEN_OPEN_PPROF_H

#include <stddef.h>

#include "viewer/open/opened_samples.h"

/**
 * Adds the samples of an uncompressed profile. -EBADMSG with a text for users if it is not one or
 * needs more than @max_bytes to decode, -ENOMEM, -E2BIG.
 */
int open_pprof(const void *bytes, size_t count, size_t max_bytes, struct opened_samples *opened);

#endif
