/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The key under which symbol caches are shared and cached: a hash over the bytes from which they are made.
 * The build id is not used because anybody can copy it into another file.
 */
#ifndef SYMBOLS_SYMBOL_CACHE_KEY_H
#define SYMBOLS_SYMBOL_CACHE_KEY_H

#include "lib/base/hash128.h"
#include "lib/elf/elf_image.h"
#include "symbols/build/make_symbol_cache.h"

/** Limit of the sections that are read of a file and of its debug file. */
#define SYMBOL_CACHE_KEY_MAX_BYTES (4ULL << 30)

struct symbol_cache_key {
	struct hash128 hash;
	/**
	 * There is DWARF in other files (.dwo, dwz's common file), which the key does not cover.
	 * Ranges may then be used only for the file from which they were made.
	 */
	bool is_partial;
};

/**
 * @debug: the debug file, NULL if there is none. Equal bytes give equal keys on every host. -E2BIG
 * for more than SYMBOL_CACHE_KEY_MAX_BYTES, which sparse files can have, -EBADMSG for sections that are
 * not in the file, -ENOMEM.
 */
int symbol_cache_key_make(const struct elf_image *image, const struct elf_image *debug,
			  enum symbol_depth depth, struct symbol_cache_key *key);

#endif
