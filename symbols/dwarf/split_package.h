/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DWARF packages (.dwp): the split units of a program in one file, with an index of where the parts
 * of each unit are (DWARF 5, section 7.3.5; the GNU extension of DWARF 4 has the same index,
 * version 2). libdw reads them from version 0.191 on. This code extracts a unit as the .dwo file
 * that it was made from.
 */
#ifndef SYMBOLS_DWARF_SPLIT_PACKAGE_H
#define SYMBOLS_DWARF_SPLIT_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "symbols/cache/varint.h"

enum {
	/** Limit of an extracted unit; real units have some megabytes. */
	SPLIT_UNIT_MAX_BYTES = 64 << 20,
};

/** Read-only after init. */
struct split_package {
	struct elf_image image;
	/** 2 or 5 */
	uint32_t version;
	uint32_t column_count;
	uint32_t unit_count;
	uint32_t slot_count;
	/** Parts of the index, borrowed: hashes, rows, column kinds, offsets, sizes. */
	const uint8_t *hashes;
	const uint8_t *rows;
	const uint8_t *columns;
	const uint8_t *offsets;
	const uint8_t *sizes;
};

/**
 * Borrows the bytes of the file, which must not change while the package exists. -ENOENT without an
 * index, -EOPNOTSUPP for another version, -EBADMSG, or an error of elf_image_init_memory().
 */
int split_package_init(struct split_package *package, const void *bytes, size_t size);
void split_package_deinit(struct split_package *package);

/**
 * Writes the unit with this id (DW_AT_dwo_id and the like) to @file, which is empty, as an ELF
 * file. -ENOENT if there is none, -EBADMSG, -E2BIG, -ENOMEM; after an error @file is invalid.
 */
int split_package_unit(const struct split_package *package, uint64_t id, struct byte_vector *file);

#endif
