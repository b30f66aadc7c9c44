/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file into which dwz has moved what several files have in common: named by .gnu_debugaltlink with its build id,
 * or, in DWARF 5 (section 7.3.6), by .debug_sup with a checksum, which the common file has in a .debug_sup of its own.
 */
#ifndef SYMBOLS_DWARF_COMMON_FILE_H
#define SYMBOLS_DWARF_COMMON_FILE_H

#include <stdbool.h>

#include "lib/elf/elf_image.h"

struct common_file_link {
	/** Owned. */
	struct elf_bytes bytes;
	/** In them. */
	const char *path;
	const uint8_t *identity;
	size_t identity_bytes;
	/** By .debug_sup. */
	bool is_supplementary;
};

/** The caller deinits. -ENOENT if there is none, -EBADMSG. */
int common_file_link_read(const struct elf_image *image, struct common_file_link *link);
void common_file_link_deinit(struct common_file_link *link);

/** The absolute path: others count from the folder of the file that is open as @fd. -ENOENT, -ENAMETOOLONG. */
int common_file_path(const struct common_file_link *link, int fd, char *path, size_t capacity);

/** Whether @fd is the file that is meant, and not one of another build. */
bool common_file_is(const struct common_file_link *link, int fd);

#endif
