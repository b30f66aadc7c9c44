/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The functions in the text of /proc/kallsyms (kernel/kallsyms.c, s_show()), sorted:
 *
 *	ffffffffc0a01230 t ext4_readpage	[ext4]
 *
 * Data symbols are left out. Of several functions at one address the most meaningful is kept: global before
 * local before weak, entries for 32-bit programs behind others, fewer leading underscores first, section marks such as
 * _stext last.
 */
#ifndef LIB_HOST_KALLSYMS_H
#define LIB_HOST_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

enum {
	KALLSYMS_MAX_SYMBOLS = 1 << 21,
	KALLSYMS_MAX_MODULES = 1 << 13,
	KALLSYMS_MAX_TEXT_BYTES = 512 << 20,
	/** Longer names are cut; the kernel's own limit is 511 (KSYM_NAME_LEN). */
	KALLSYMS_NAME_MAX_BYTES = 1024,
	KALLSYMS_MODULE_NAME_BYTES = 64,
};

struct kallsyms_symbol {
	uint64_t address;
	/** Offset into names. */
	uint32_t name;
	/** Index into modules; 0 is the kernel itself. */
	uint16_t module;
	/** Lower is better. */
	uint16_t rank;
};

/** Read-only once made. The arrays are owned. */
struct kallsyms {
	/** Ascending, no two equal. */
	struct kallsyms_symbol *symbols;
	uint32_t count;
	uint32_t module_count;
	char *names;
	size_t name_bytes;
	char (*modules)[KALLSYMS_MODULE_NAME_BYTES];
	/** _text, or else _stext, and _etext; 0 where they are missing. */
	uint64_t text_start;
	uint64_t text_end;
};

/**
 * -EACCES if all addresses are 0, since the kernel hides them. -EBADMSG for text without any function or with a
 * line that is malformed; -E2BIG over the limits; -ENOMEM.
 */
int kallsyms_parse(struct kallsyms *kallsyms, const char *text, size_t size);

/** Reads and parses a file; also errors of open and read. */
int kallsyms_read(struct kallsyms *kallsyms, const char *path);

void kallsyms_deinit(struct kallsyms *kallsyms);

/** The last symbol at or below @address, NULL if all lie above. Borrowed. */
const struct kallsyms_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address);

#endif
