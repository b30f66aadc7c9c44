/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the line tables of CPython's code objects. CPython's sources describe them in Objects/lnotab_notes.txt (up to
 * 3.10), Objects/locations.md (3.11 to 3.13) and InternalDocs/code_objects.md (3.14 on). The reference is
 * PyCode_Addr2Line() of each version, in Objects/codeobject.c. Nothing is allocated, and hostile bytes cost at most
 * one pass over them.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LINES_H
#define INTERPRETERS_PYTHON_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_line_table {
	/** 2.7: pairs of bytes, the increments of the instruction's offset and of the line. */
	PYTHON_LINES_UNSIGNED,
	/** 3.6 to 3.9: as before, but the increment of the line is signed. */
	PYTHON_LINES_SIGNED,
	/** 3.10: pairs of bytes, the length of a range and the increment of the line. */
	PYTHON_LINES_RANGES,
	/** From 3.11 on: an entry of variable length for each range. */
	PYTHON_LINES_LOCATIONS,
};

/**
 * The line of the instruction at @offset, in bytes from the first instruction. A negative @offset means that the
 * function has not begun, and gives its first line. Returns 0 if the table has no line, as for instructions that the
 * compiler has generated.
 */
uint32_t python_line(enum python_line_table kind, const uint8_t *table, size_t size,
		     int32_t first_line, int64_t offset);

/**
 * False if the table cannot belong to @code_bytes of instructions: up to 3.9 if it goes beyond their end, later if it
 * does not end there.
 */
bool python_lines_fit(enum python_line_table kind, const uint8_t *table, size_t size,
		      uint64_t code_bytes);

#endif
