/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bare code: the code of a file that its .eh_frame does not describe, and the starts of functions in
 * it. It is the input of code_analysis.h. Nearly every file has some hundred bytes of it (the start
 * files of the C library); all code of a file without tables is bare.
 *
 * Only those bytes are read, from a file of any size.
 */
#ifndef STACKDELTAS_BARE_CODE_H
#define STACKDELTAS_BARE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackdeltas/address_vector.h"
#include "stackdeltas/code/code_analysis.h"

struct elf_image;
struct fde_table;
struct unwind_input;

enum {
	/**
	 * Limit of the bare code of a file. A file with more is unwound by frame pointers only: the analysis of this
	 * much takes some seconds of CPU time, and in a program of hundreds of megabytes it would rarely cover the code
	 * that samples hit.
	 */
	BARE_CODE_MAX_BYTES = 64 << 20,
	BARE_CODE_MAX_RANGES = 1 << 16,
	BARE_CODE_MAX_STARTS = 1 << 20,
};

VECTOR_DEFINE(code_bytes_vector, struct code_bytes)

struct bare_code {
	/** Sorted by address, not overlapping; their bytes follow each other in @bytes. Owned. */
	struct code_bytes *ranges;
	uint32_t range_count;
	uint8_t *bytes;
	/** Sorted, each within a range. */
	struct address_vector starts;
	/** The same of addresses that data contains (code_pointers.h). */
	struct address_vector pointers;
	/** Bytes of code with tables that were searched for starts, and of the functions that were decoded for it. */
	uint64_t searched_bytes;
	uint64_t decoded_bytes;
};

/**
 * Finds the parts of the executable sections of @image (of its segments, if it has no sections) that are in
 * the segments of @input, but not in @table, except PLT stubs and functions in Go's table. Sets @all_bytes
 * to their size. They are not read if that is more than BARE_CODE_MAX_BYTES, or if @code is NULL. -ENOMEM,
 * or an error of the file system. The caller deinits @code in any case.
 */
int bare_code_read(const struct elf_image *image, const struct unwind_input *input,
		   const struct fde_table *table, struct bare_code *code, uint64_t *all_bytes);
void bare_code_deinit(struct bare_code *code);

/** Adds the functions of the symbols of @image to the starts. -ENOMEM. */
int bare_code_add_symbols(struct bare_code *code, const struct elf_image *image);

/**
 * Adds those of @starts, sorted or not, that are in ranges to @selected, which is then sorted and
 * without duplicates. -ENOMEM.
 */
int bare_code_select_starts(const struct bare_code *code, const struct address_vector *starts,
			    struct address_vector *selected);

/** True if @address is in a range. */
bool bare_code_contains(const struct bare_code *code, uint64_t address);

/**
 * Appends to @rest the parts of the ranges that @table, which has FDEs of more sources by now, still
 * does not cover. Bytes are borrowed from @code. -ENOMEM.
 */
int bare_code_rest(const struct bare_code *code, const struct fde_table *table,
		   struct code_bytes_vector *rest);

#endif
