/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The code of a file that its .eh_frame leaves out, and where functions start in it: the input of
 * code_analysis.h. Nearly every file has some hundred bytes of it (the start files of the C library),
 * a file without tables has nothing else.
 *
 * Only those bytes are read, wherever they lie in a file of any size.
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
	 * Files with more are left to frame pointers as a whole: to analyse this takes most of a second of CPU time,
	 * and of a program of hundreds of megabytes samples would rarely come to what it is about.
	 */
	BARE_CODE_MAX_BYTES = 16 << 20,
	BARE_CODE_MAX_RANGES = 1 << 16,
	BARE_CODE_MAX_STARTS = 1 << 20,
};

VECTOR_DEFINE(code_bytes_vector, struct code_bytes)

struct bare_code {
	/** Sorted by address, not overlapping; their bytes lie one after the other in @bytes. Owned. */
	struct code_bytes *ranges;
	uint32_t range_count;
	uint8_t *bytes;
	/** Sorted, each within a range. */
	struct address_vector starts;
};

/**
 * Finds what @table leaves out of the executable sections of @image (of its segments, if it has no
 * sections) and of the segments of @input, PLT stubs and functions in Go's table apart. Gives the number of such bytes, of
 * which none were read if they are more than BARE_CODE_MAX_BYTES, or @code is NULL. -ENOMEM, or as the
 * file system says. The caller deinits @code in any case.
 */
int bare_code_read(const struct elf_image *image, const struct unwind_input *input,
		   const struct fde_table *table, struct bare_code *code, uint64_t *all_bytes);
void bare_code_deinit(struct bare_code *code);

/** Adds functions known by the symbols of @image to the starts. -ENOMEM. */
int bare_code_add_symbols(struct bare_code *code, const struct elf_image *image);

/**
 * Adds of @starts, sorted or not, those that lie in ranges to @selected, which comes out sorted and
 * without double ones. -ENOMEM.
 */
int bare_code_select_starts(const struct bare_code *code, const struct address_vector *starts,
			    struct address_vector *selected);

/** Whether @address lies in a range. */
bool bare_code_contains(const struct bare_code *code, uint64_t address);

/**
 * Appends to @rest what of the ranges @table, with FDEs of more sources than it had before, leaves
 * out. Bytes are borrowed from @code. -ENOMEM.
 */
int bare_code_rest(const struct bare_code *code, const struct fde_table *table,
		   struct code_bytes_vector *rest);

#endif
