/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads OTLP profiles (proto/otlp_collector.proto). The agent's own are restored completely, others
 * as far as their data allows.
 */
#ifndef VIEWER_OPEN_OPEN_OTLP_H
#define VIEWER_OPEN_OPEN_OTLP_H

#include <stddef.h>

#include "viewer/open/opened_samples.h"

/**
 * Adds the samples of one ExportProfilesServiceRequest. -EBADMSG with a text for users if it is not
 * one or needs more than @max_bytes to decode, -ENOMEM, -E2BIG.
 */
int open_otlp(const void *bytes, size_t count, size_t max_bytes, struct opened_samples *opened);

#endif
