/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Interface through which a symbol store gets ranges: symbols/range_store.h, or a fake in tests.
 */
#ifndef SYMBOLS_RANGE_SOURCE_H
#define SYMBOLS_RANGE_SOURCE_H

#include "lib/model/binary.h"
#include "symbols/build/make_ranges.h"
#include "symbols/cache/mapped_ranges.h"

struct range_source;

struct range_source_ops {
	/**
	 * The best current ranges of @binary, up to @depth; NULL if there are none. Returns a
	 * reference, which the caller owns. Any thread may call it; it never waits.
	 */
	struct mapped_ranges *(*get)(struct range_source *source, struct binary *binary,
				     enum range_depth depth);
};

struct range_source {
	const struct range_source_ops *ops;
};

#endif
