/* SPDX-License-Identifier: Apache-2.0 */
/** Reads pprof profiles: the agent's (reporter/pprof.h) as what they were, others as far as they tell. */
#ifndef VIEWER_OPEN_OPEN_PPROF_H
#define VIEWER_OPEN_OPEN_PPROF_H

#include <stddef.h>

#include "viewer/open/opened_samples.h"

/**
 * Adds the samples of an uncompressed profile. -EBADMSG with a text for users for what is none or needs over
 * @max_bytes to unpack, -ENOMEM, -E2BIG.
 */
int open_pprof(const void *bytes, size_t count, size_t max_bytes, struct opened_samples *opened);

#endif
