/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Go's table of functions in one ELF file (.gopclntab), which go_function.h and go_frames.h read from. Go
 * programs have no .eh_frame, and this table survives stripping, since the runtime walks its own stacks with
 * it.
 *
 * The table may have a hundred megabytes and is never loaded. Parts are read on demand, through pages of 1 MiB
 * at most. Every offset in it is hostile.
 */
#ifndef LIB_ELF_GO_TABLE_H
#define LIB_ELF_GO_TABLE_H

#include "lib/elf/elf_pages.h"
#include "lib/elf/elf_relocations.h"
#include "lib/elf/go_header.h"

enum {
	/** Limit of the search for a header through the segments of a file without such a section. */
	GO_TABLE_SEARCH_MAX_BYTES = 1 << 30,
};

/** Formats of inline trees, named after the first Go that has them. */
enum go_inline_tree {
	/** Not known. */
	GO_INLINE_TREE_NONE,
	GO_INLINE_TREE_1_9,
	GO_INLINE_TREE_1_12,
	GO_INLINE_TREE_1_20,
};

/**
 * Offsets of fields in _func, and the format of inline trees, which depend on the version. 0 for what a version
 * lacks.
 */
struct go_layout {
	/** Size of the address, 8 or 4 bytes. The next fields are the same in all versions. */
	uint8_t address_bytes;
	/** Offsets of cuOffset, startLine, funcID and of the count of funcdata; size of that count. */
	uint8_t unit;
	uint8_t start_line;
	uint8_t id;
	uint8_t funcdata_count;
	uint8_t funcdata_count_bytes;
	/** Size of the struct. 4 bytes for each pcdata follow it, then the funcdata. */
	uint8_t bytes;
	/** Layout of runtime.inlinedCall, and the numbers of PCDATA_InlTreeIndex and FUNCDATA_InlTree. */
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
	/** 26 for Go 1.26; 0 if the file does not state it. */
	uint32_t minor;
	/** Bases of function addresses and funcdata; 0 before 1.18, where these are absolute. */
	uint64_t text;
	uint64_t funcdata;
	/** ELF virtual addresses of the first function and of the end of the last one. */
	uint64_t first_address;
	uint64_t end_address;
	/** Steps taken through tables of values so far, to bound the time that one address takes. */
	uint64_t step_count;
};

/**
 * Finds the table of @image, which is borrowed until go_table_deinit(). If no section has the table, all loaded
 * segments of the file are read, so do not call this for files that are not likely to have one. -ENOENT without
 * a table, -EBADMSG for a damaged one, -EOPNOTSUPP for an unknown version, -E2BIG over a limit.
 */
int go_table_init(struct go_table *table, const struct elf_image *image);
void go_table_deinit(struct go_table *table);

/** Frees the pages that were read; the table can be used as before. */
void go_table_release(struct go_table *table);

#endif
