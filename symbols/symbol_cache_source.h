/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Interface through which a symbol store gets symbol caches: symbols/symbol_caches.h, or a fake in tests.
 */
#ifndef SYMBOLS_SYMBOL_CACHE_SOURCE_H
#define SYMBOLS_SYMBOL_CACHE_SOURCE_H

#include "lib/model/binary.h"
#include "symbols/build/make_symbol_cache.h"
#include "symbols/cache/mapped_symbol_cache.h"

struct symbol_cache_source;

struct symbol_cache_source_ops {
	/**
	 * The best current symbol cache of @binary, up to @depth; NULL if there are none. Returns a
	 * reference, which the caller owns. Any thread may call it; it never waits.
	 */
	struct mapped_symbol_cache *(*get)(struct symbol_cache_source *source,
					   struct binary *binary, enum symbol_depth depth);
};

struct symbol_cache_source {
	const struct symbol_cache_source_ops *ops;
};

#endif
