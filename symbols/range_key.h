/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The key under which ranges are shared and kept: a hash over the very bytes that they are made of. Not
 * the build id, which anybody can copy into another file.
 */
#ifndef SYMBOLS_RANGE_KEY_H
#define SYMBOLS_RANGE_KEY_H

#include "lib/base/hash128.h"
#include "lib/elf/elf_image.h"
#include "symbols/build/make_ranges.h"

/** Of the sections read of a file and of its debug file. */
#define RANGE_KEY_MAX_BYTES (4ULL << 30)

struct range_key {
	struct hash128 hash;
	/**
	 * DWARF lies in further files (.dwo, what dwz has moved): the key does not tell of them, so ranges may
	 * be used only for the file that they were made of.
	 */
	bool is_partial;
};

/**
 * @debug: the debug file, NULL if there is none. Same bytes, same key, on every host. -E2BIG for more than
 * RANGE_KEY_MAX_BYTES, which sparse files can have, -EBADMSG for sections that are not in the file, -ENOMEM.
 */
int range_key_make(const struct elf_image *image, const struct elf_image *debug,
		   enum range_depth depth, struct range_key *key);

#endif
