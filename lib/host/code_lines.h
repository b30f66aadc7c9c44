/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files and lines of one function of run-time generated code, packed into the bytes behind its name
 * (code_names.h). Addresses are offsets from the function's start.
 */
#ifndef LIB_HOST_CODE_LINES_H
#define LIB_HOST_CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/host/code_names.h"

enum {
	/** Rows of one function; a function with more has no lines. */
	CODE_LINES_MAX_ROWS = 4096,
	CODE_LINES_MAX_FILES = 64,
	CODE_LINES_MAX_FILE_BYTES = 4096,
};

/** The line of the code from offset on, up to the next row's. */
struct code_line {
	uint32_t offset;
	uint32_t line;
	/** Offset of the file's name in the names of all files. */
	uint32_t file;
};

VECTOR_DEFINE(code_line_rows, struct code_line)

/** Rows that are being collected. All bytes zero: no rows. */
struct code_lines {
	struct code_line_rows rows;
	/** The files' names with their NULs, and the offset of each. */
	struct code_text files;
	uint32_t file_starts[CODE_LINES_MAX_FILES];
	uint32_t file_count;
};

void code_lines_deinit(struct code_lines *lines);

/** Bytes of memory that @lines holds. */
size_t code_lines_bytes(const struct code_lines *lines);

/** Removes all rows and keeps their memory. */
void code_lines_clear(struct code_lines *lines);

/** Adds a row. -E2BIG over the limits, -ENOMEM; then the rows must not be used. */
int code_lines_add(struct code_lines *lines, uint32_t offset, uint32_t line, const char *file,
		   size_t length);

/** Sets the file of all rows to @file. Errors as code_lines_add(). */
int code_lines_set_file(struct code_lines *lines, const char *file, size_t length);

/**
 * Sorts the rows, leaves out redundant ones, and packs them for code_lines_find(). *@packed has *@bytes bytes
 * and is borrowed until the next change. -ENOMEM.
 */
int code_lines_pack(struct code_lines *lines, const void **packed, uint32_t *bytes);

/**
 * Returns the file (borrowed) and the line of the last row at or below @offset in packed rows. NULL if there is
 * none; then *@line is untouched.
 */
const char *code_lines_find(const void *packed, uint32_t bytes, uint32_t offset, uint32_t *line);

#endif
