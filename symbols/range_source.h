/* SPDX-License-Identifier: Apache-2.0 */
/** Where a symbol store gets ranges from: symbols/range_store.h, or a test's. */
#ifndef SYMBOLS_RANGE_SOURCE_H
#define SYMBOLS_RANGE_SOURCE_H

#include "lib/model/binary.h"
#include "symbols/build/make_ranges.h"
#include "symbols/cache/mapped_ranges.h"

struct range_source;

struct range_source_ops {
	/**
	 * The best ranges of @binary that are there now, of @depth at most; NULL if there are none. A
	 * reference, the caller's. Any thread, never waits.
	 */
	struct mapped_ranges *(*get)(struct range_source *source, struct binary *binary,
				     enum range_depth depth);
};

struct range_source {
	const struct range_source_ops *ops;
};

#endif
