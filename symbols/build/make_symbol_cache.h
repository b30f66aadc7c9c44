/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Collects all knowledge about a file's code into a symbol cache: its own symbols, those of
 * .gnu_debugdata, those of its separate debug file, Go's table of a stripped program, the subs of a stripped module of Perl,
 * and the DWARF of the file or else of its debug file.
 */
#ifndef SYMBOLS_BUILD_MAKE_SYMBOL_CACHE_H
#define SYMBOLS_BUILD_MAKE_SYMBOL_CACHE_H

#include "lib/base/hash128.h"
#include "lib/elf/debug_file.h"
#include "symbols/cache/symbol_cache_writer.h"

enum symbol_depth {
	/** Symbols only: takes milliseconds, and maps no file. */
	SYMBOL_DEPTH_SYMBOLS,
	SYMBOL_DEPTH_FULL,
};

/**
 * Collects the data of @image into @writer. @search says where its debug file may be; NULL:
 * nowhere. Damaged or missing sources are skipped. -ENOMEM, -E2BIG.
 */
int make_symbol_cache(const struct elf_image *image, const struct debug_file_search *search,
		      enum symbol_depth depth, struct symbol_cache_writer *writer);

/** Like make_symbol_cache(), for a debug file that was found before: @debug may be NULL. */
int make_symbol_cache_of(const struct elf_image *image, const struct elf_image *debug,
			 enum symbol_depth depth, struct symbol_cache_writer *writer);

/**
 * Writes a symbol cache with the symbols of a small file to @fd, which is empty. @debug may be NULL. -E2BIG: its names are many, and
 * are made by symbol_cache_maker_run(); -ENOMEM, or an error of write().
 */
int make_small_symbol_cache(const struct elf_image *image, const struct elf_image *debug,
			    struct hash128 key, int fd);

#endif
