/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes a copy of an ELF file in which the debug data is not compressed. This is needed because
 * libelf decompresses sections into the process's memory, and some builds of it cannot decompress
 * zstd. The copy has the sections of debug data and the build id; sections that libdw is never
 * asked for are empty. It is written to a mapped file, whose pages do not count as memory of the
 * process; only the offsets of sections are kept in memory.
 *
 * The file declares the sizes; a damaged section becomes empty.
 */
#ifndef SYMBOLS_DWARF_UNPACKED_ELF_H
#define SYMBOLS_DWARF_UNPACKED_ELF_H

#include "lib/elf/elf_image.h"

enum {
	/**
	 * Limit of the size of a large section, as a multiple of its compressed size. 10 is much;
	 * 160 was seen in generated code.
	 */
	UNPACKED_MAX_EXPANSION = 512,
	/** Every section may have this size. */
	UNPACKED_SMALL_BYTES = 16 << 20,
};

/** Limit of all sections of a file. */
#define UNPACKED_MAX_BYTES (2ULL << 30)

/**
 * Makes the copy in a file that @open_file opens, of @bytes bytes, for reading and writing. The
 * caller owns *@fd, which is -1 if nothing in @image is compressed. -E2BIG over the limits,
 * -ENOMEM, or an error of @open_file.
 */
int unpacked_elf_make(const struct elf_image *image, int (*open_file)(uint64_t bytes, int *fd),
		      int *fd);

#endif
