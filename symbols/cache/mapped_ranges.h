/* SPDX-License-Identifier: Apache-2.0 */
/** A mapped range file, made by us: reference-counted (atomic) and read-only. */
#ifndef SYMBOLS_CACHE_MAPPED_RANGES_H
#define SYMBOLS_CACHE_MAPPED_RANGES_H

#include <stdbool.h>

#include "symbols/cache/range_file.h"

struct mapped_ranges {
	struct range_file file;
	void *bytes;
	size_t size;
	unsigned int references;
};

/**
 * Maps @fd, which the caller keeps, and which nobody may change or truncate any more. @is_checked:
 * its hashes have been verified before. -EBADMSG if it is damaged or has another key, -EOPNOTSUPP
 * for another version.
 */
int mapped_ranges_create(int fd, struct hash128 key, bool is_checked,
			 struct mapped_ranges **mapped);
struct mapped_ranges *mapped_ranges_ref(struct mapped_ranges *mapped);
void mapped_ranges_unref(struct mapped_ranges *mapped);

#endif
