/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small reads from an ELF image through cached pages, for tables that are too large to be loaded and of which
 * many short chunks are needed. The pages take at most 1 MiB, allocated on demand.
 */
#ifndef LIB_ELF_ELF_PAGES_H
#define LIB_ELF_ELF_PAGES_H

#include "lib/base/text_builder.h"
#include "lib/elf/elf_image.h"

enum {
	ELF_PAGE_BYTES = 16 << 10,
	ELF_PAGE_SETS = 16,
	ELF_PAGE_WAYS = 4,
};

struct elf_page {
	/** NULL until the slot is used for the first time. */
	uint8_t *data;
	/** Number of the page in the file; valid if bytes is not 0. */
	uint64_t number;
	/** Less than ELF_PAGE_BYTES at the end of the file. */
	uint32_t bytes;
};

/** Used by one thread at a time. */
struct elf_pages {
	/** Borrowed. */
	const struct elf_image *image;
	struct elf_page pages[ELF_PAGE_SETS][ELF_PAGE_WAYS];
	/** The next page to be replaced in each set. */
	uint8_t victims[ELF_PAGE_SETS];
};

/** @image is borrowed until elf_pages_deinit(). Allocates nothing. */
void elf_pages_init(struct elf_pages *pages, const struct elf_image *image);

/** Frees the pages. Reads still work and allocate them again. */
void elf_pages_release(struct elf_pages *pages);
void elf_pages_deinit(struct elf_pages *pages);

/** Copies exactly @bytes bytes at file offset @offset. -EBADMSG beyond the end, -ENOMEM, or an error of pread. */
int elf_pages_read(struct elf_pages *pages, uint64_t offset, void *buffer, size_t bytes);

/** As above, at ELF virtual address @address. */
int elf_pages_read_address(struct elf_pages *pages, uint64_t address, void *buffer, size_t bytes);

/**
 * Appends the string that starts at file offset @offset to @text, without its NUL. -EBADMSG if there
 * is no NUL before file offset @end, -E2BIG if there is none within @max_bytes; in both cases part of
 * it may have been appended.
 */
int elf_pages_read_string(struct elf_pages *pages, uint64_t offset, uint64_t end, size_t max_bytes,
			  struct text_builder *text);

#endif
