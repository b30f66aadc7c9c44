/* SPDX-License-Identifier: Apache-2.0 */
/** A mapped symbol cache, made by us: reference-counted (atomic) and read-only. */
#ifndef SYMBOLS_CACHE_MAPPED_SYMBOL_CACHE_H
#define SYMBOLS_CACHE_MAPPED_SYMBOL_CACHE_H

#include <stdbool.h>

#include "symbols/cache/symbol_cache.h"

struct mapped_symbol_cache {
	struct symbol_cache file;
	void *bytes;
	size_t size;
	unsigned int references;
};

/**
 * Maps @fd, which the caller keeps, and which nobody may change or truncate any more. @is_checked:
 * its hashes have been verified before. -EBADMSG if it is damaged or has another key, -EOPNOTSUPP
 * for another version.
 */
int mapped_symbol_cache_create(int fd, struct hash128 key, bool is_checked,
			       struct mapped_symbol_cache **mapped);
struct mapped_symbol_cache *mapped_symbol_cache_ref(struct mapped_symbol_cache *mapped);
void mapped_symbol_cache_unref(struct mapped_symbol_cache *mapped);

#endif
