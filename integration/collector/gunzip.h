/* SPDX-License-Identifier: Apache-2.0 */
/** Decompresses requests (gzip); the contents may be hostile. */
#ifndef INTEGRATION_COLLECTOR_GUNZIP_H
#define INTEGRATION_COLLECTOR_GUNZIP_H

#include "integration/collector/wire_reader.h"

enum {
	/** A request that is over every limit is counted only up to this size. */
	GUNZIP_COUNT_MAX_BYTES = 64 << 20,
};

/**
 * Decompresses @packed. *@bytes are malloc'ed, at most @max_bytes; *@byte_count is the decompressed
 * size, counted up to GUNZIP_COUNT_MAX_BYTES. -E2BIG if that is more than @max_bytes, -EBADMSG if
 * the input is not gzip or continues after its end, -ENOMEM. After an error *@bytes is untouched,
 * and *@byte_count is set for -E2BIG only.
 */
int gunzip(struct span packed, size_t max_bytes, uint8_t **bytes, size_t *byte_count);

#endif
