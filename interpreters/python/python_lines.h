/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Line tables of CPython's code objects. Objects/lnotab_notes.txt (up to 3.10),
 * Objects/locations.md (3.11 to 3.13) and InternalDocs/code_objects.md (3.14 on) of CPython's sources
 * describe them; what counts is PyCode_Addr2Line() of each version, in Objects/codeobject.c. Nothing
 * is allocated, and bytes from outside cost no more than one pass over them.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LINES_H
#define INTERPRETERS_PYTHON_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_line_table {
	/** 2.7: pairs of bytes, what to add to the instruction's offset and to the line. */
	PYTHON_LINES_UNSIGNED,
	/** 3.6 to 3.9: as before, but lines go down as well. */
	PYTHON_LINES_SIGNED,
	/** 3.10: pairs of bytes, the length of a range and what to add to the line. */
	PYTHON_LINES_RANGES,
	/** 3.11 on: an entry of varying length for each range. */
	PYTHON_LINES_LOCATIONS,
};

/**
 * The line of the instruction at @offset, in bytes from the first one; below 0: the function has
 * not begun, its first line. 0: the table has none for it, as for instructions that the compiler
 * made up.
 */
uint32_t python_line(enum python_line_table kind, const uint8_t *table, size_t size,
		     int32_t first_line, int64_t offset);

/**
 * False if the table cannot be of @code_bytes of instructions: up to 3.9 what goes beyond them, later
 * what does not end where they end.
 */
bool python_lines_fit(enum python_line_table kind, const uint8_t *table, size_t size,
		      uint64_t code_bytes);

#endif
