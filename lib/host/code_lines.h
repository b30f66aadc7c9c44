/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files and lines of one function of code that a process made while it runs, in the bytes behind
 * its name (code_names.h). Addresses are offsets from the function's start.
 */
#ifndef LIB_HOST_CODE_LINES_H
#define LIB_HOST_CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/host/code_names.h"

enum {
	/** Of one function; one that has more has no lines. */
	CODE_LINES_MAX_ROWS = 4096,
	CODE_LINES_MAX_FILES = 64,
	CODE_LINES_MAX_FILE_BYTES = 4096,
};

/** From @offset on, up to the next row's. */
struct code_line {
	uint32_t offset;
	uint32_t line;
	/** Where the file's name is among those of all. */
	uint32_t file;
};

VECTOR_DEFINE(code_line_rows, struct code_line)

/** What is taken in; all bytes zero is without rows. */
struct code_lines {
	struct code_line_rows rows;
	/** With their NULs, and where each begins. */
	struct code_text files;
	uint32_t file_starts[CODE_LINES_MAX_FILES];
	uint32_t file_count;
};

void code_lines_deinit(struct code_lines *lines);

/** Memory that they hold. */
size_t code_lines_bytes(const struct code_lines *lines);

/** Leaves no rows, but their memory. */
void code_lines_clear(struct code_lines *lines);

/** -E2BIG over the limits, -ENOMEM; then the rows are of no use. */
int code_lines_add(struct code_lines *lines, uint32_t offset, uint32_t line, const char *file,
		   size_t length);

/** Makes @file that of all rows. Errors as code_lines_add(). */
int code_lines_set_file(struct code_lines *lines, const char *file, size_t length);

/**
 * Sorts the rows, leaves out those that say nothing new, and gives *@bytes of them as
 * code_lines_find() reads them, borrowed until the next change. -ENOMEM.
 */
int code_lines_pack(struct code_lines *lines, const void **packed, uint32_t *bytes);

/**
 * The file, borrowed, and the line of the last row at or below @offset in what code_lines_pack()
 * made. NULL if there is none; *@line then stays.
 */
const char *code_lines_find(const void *packed, uint32_t bytes, uint32_t offset, uint32_t *line);

#endif
