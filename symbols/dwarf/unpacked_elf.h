/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An ELF file whose debug data is compressed, as one in which it is not: libelf unpacks sections into
 * memory of its own, and some builds of it leave those out that zstd has packed. What is made has the sections
 * of debug data, those empty that nothing here asks libdw for, and the build id. It is written to a file that is
 * mapped, whose pages are no memory of the process; nothing of a section is held but where it stands.
 *
 * Sizes are what the file claims; a section that is damaged is empty then.
 */
#ifndef SYMBOLS_DWARF_UNPACKED_ELF_H
#define SYMBOLS_DWARF_UNPACKED_ELF_H

#include "lib/elf/elf_image.h"

enum {
	/** What large sections may become, as a multiple of their bytes; 10 is much, 160 was seen in generated code. */
	UNPACKED_MAX_EXPANSION = 512,
	/** What each may become in any case. */
	UNPACKED_SMALL_BYTES = 16 << 20,
};

/** The most that all sections of a file may become. */
#define UNPACKED_MAX_BYTES (2ULL << 30)

/**
 * Makes one, in a file that @open_file opens: of @bytes bytes, for reading and writing. The caller owns *@fd, which is
 * -1 if nothing in @image is compressed. -E2BIG over the limits, -ENOMEM, or what @open_file says.
 */
int unpacked_elf_make(const struct elf_image *image, int (*open_file)(uint64_t bytes, int *fd),
		      int *fd);

#endif
