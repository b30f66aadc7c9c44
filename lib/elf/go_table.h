/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Go's table of functions in one ELF file (.gopclntab): found, and ready for go_function.h and
 * go_frames.h to read from. Go programs have no .eh_frame, and this table survives stripping, since
 * the runtime walks its own stacks with it.
 *
 * It may have a hundred megabytes and is never loaded: what is wanted is read when it is, through
 * pages of 1 MiB at most. Every offset in it is hostile.
 */
#ifndef LIB_ELF_GO_TABLE_H
#define LIB_ELF_GO_TABLE_H

#include "lib/elf/elf_pages.h"
#include "lib/elf/elf_relocations.h"
#include "lib/elf/go_header.h"

enum {
	/** Where no section has the name, so much of the file's segments is searched for a header. */
	GO_TABLE_SEARCH_MAX_BYTES = 1 << 30,
};

/** Inline trees, by the Go that first had them. */
enum go_inline_tree {
	/** Not known. */
	GO_INLINE_TREE_NONE,
	GO_INLINE_TREE_1_9,
	GO_INLINE_TREE_1_12,
	GO_INLINE_TREE_1_20,
};

/** Where _func has what, and the inline trees: by version. 0 stands for what a version does not have. */
struct go_layout {
	/** The first fields are the same for all, behind the address of 8 or 4 bytes. */
	uint8_t address_bytes;
	/** Offset of cuOffset, startLine, funcID; of the count of funcdata, and its size. */
	uint8_t unit;
	uint8_t start_line;
	uint8_t id;
	uint8_t funcdata_count;
	uint8_t funcdata_count_bytes;
	/** Of the struct. Behind it there are 4 bytes for each pcdata, then the funcdata. */
	uint8_t bytes;
	/** What runtime.inlinedCall is like, and PCDATA_InlTreeIndex and FUNCDATA_InlTree. */
	enum go_inline_tree inline_tree;
	uint8_t inline_pcdata;
	uint8_t inline_funcdata;
};

/** Used by one thread at a time. */
struct go_table {
	struct elf_pages pages;
	struct elf_relocations relocations;
	struct go_header header;
	struct go_layout layout;
	/** 26 for Go 1.26; 0 if the file does not say. */
	uint32_t minor;
	/** What addresses and funcdata count from; 0 before 1.18, where they are addresses. */
	uint64_t text;
	uint64_t funcdata;
	/** From the first function to the end of the last one: ELF virtual addresses. */
	uint64_t first_address;
	uint64_t end_address;
	/** Steps taken through tables of values so far, to bound the time that one address takes. */
	uint64_t step_count;
};

/**
 * Finds the table of @image, which is borrowed until go_table_deinit(). Files whose sections say
 * nothing are searched, which reads all that they load: not to be asked of files for nothing. -ENOENT
 * without a table, -EBADMSG for a damaged one, -EOPNOTSUPP for an unknown version, -E2BIG over a limit.
 */
int go_table_init(struct go_table *table, const struct elf_image *image);
void go_table_deinit(struct go_table *table);

/** Frees what was read; the table can be used as before. */
void go_table_release(struct go_table *table);

#endif
