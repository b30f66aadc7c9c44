/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file into which dwz moves the debug data that several files share. .gnu_debugaltlink has its
 * path and its build id; in DWARF 5 (section 7.3.6) .debug_sup has its path and a checksum, which
 * the common file has in its own .debug_sup.
 */
#ifndef SYMBOLS_DWARF_COMMON_FILE_H
#define SYMBOLS_DWARF_COMMON_FILE_H

#include <stdbool.h>

#include "lib/elf/elf_image.h"

struct common_file_link {
	/** Owned. */
	struct elf_bytes bytes;
	/** Points into bytes. */
	const char *path;
	const uint8_t *identity;
	size_t identity_bytes;
	/** The link is from .debug_sup. */
	bool is_supplementary;
};

/** The caller deinits @link. -ENOENT if there is none, -EBADMSG. */
int common_file_link_read(const struct elf_image *image, struct common_file_link *link);
void common_file_link_deinit(struct common_file_link *link);

/**
 * The absolute path; a relative one is relative to the directory of the open file @fd. -ENOENT,
 * -ENAMETOOLONG.
 */
int common_file_path(const struct common_file_link *link, int fd, char *path, size_t capacity);

/** True if @fd is the file of the link, and not one of another build. */
bool common_file_is(const struct common_file_link *link, int fd);

#endif
