/* SPDX-License-Identifier: Apache-2.0 */
/** A range file of our own in a mapping, shared by reference count (atomic) and read-only. */
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
 * Maps @fd, which nobody may change or truncate any more, and which stays the caller's. @is_checked: its
 * hashes were found to be right before. -EBADMSG if it is damaged or has another key, -EOPNOTSUPP for
 * another version.
 */
int mapped_ranges_create(int fd, struct hash128 key, bool is_checked,
			 struct mapped_ranges **mapped);
struct mapped_ranges *mapped_ranges_ref(struct mapped_ranges *mapped);
void mapped_ranges_unref(struct mapped_ranges *mapped);

#endif
