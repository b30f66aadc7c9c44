/* SPDX-License-Identifier: Apache-2.0 */
/** gzip as requests are compressed by it; what it holds may be hostile. */
#ifndef INTEGRATION_COLLECTOR_GUNZIP_H
#define INTEGRATION_COLLECTOR_GUNZIP_H

#include "integration/collector/wire_reader.h"

enum {
	/** Nobody counts how much longer a request that is over every limit is. */
	GUNZIP_COUNT_MAX_BYTES = 64 << 20,
};

/**
 * Decompresses @packed. *@bytes are malloc'ed, at most @max_bytes; *@byte_count is what there was,
 * up to GUNZIP_COUNT_MAX_BYTES. -E2BIG if that is over @max_bytes, -EBADMSG for what is no gzip or
 * goes on behind its end, -ENOMEM; then *@bytes is untouched, and *@byte_count set for -E2BIG only.
 */
int gunzip(struct span packed, size_t max_bytes, uint8_t **bytes, size_t *byte_count);

#endif
