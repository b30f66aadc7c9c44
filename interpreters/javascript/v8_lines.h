/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds lines and columns in a script. V8's functions and position tables have offsets in the source, in UTF-16 units.
 * Script.line_ends has the ends of lines once V8 itself needed a line (for an Error's stack). Before, which is the
 * normal case, lines are counted in the source, which the process keeps in its memory.
 *
 * Source: objects/script.tq; objects/objects.cc (Script::GetPositionInfo), objects/string.cc (CalculateLineEndsImpl),
 * strings/char-predicates.h (IsLineTerminatorSequence) @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_LINES_H
#define INTERPRETERS_JAVASCRIPT_V8_LINES_H

#include "interpreters/javascript/v8_heap.h"

enum {
	/** Longer sources are not read. */
	V8_LINES_MAX_CHARACTERS = 64 << 20,
	/** 16 MiB of offsets. */
	V8_LINES_MAX_COUNT = 1 << 22,
};

/** The lines of one script. */
struct v8_lines {
	/** Offset of the terminator of each line, or of the end for the last line. Ascending. Owned. */
	uint32_t *ends;
	uint32_t count;
	/** Position of the source in the text that it was taken from (vm.Script's lineOffset); mostly 0. */
	int32_t line_offset;
	int32_t column_offset;
};

/** Line and column, counted from 1. */
struct v8_location {
	uint32_t line;
	uint32_t column;
};

/**
 * Finds the lines of the Script at tagged @script. -EBADMSG: it is no Script, or its source is no string; -E2BIG over a
 * limit; -ENOMEM, -EFAULT, -ESRCH.
 */
int v8_lines_read(const struct v8_heap *heap, uint64_t script, struct v8_lines *lines);
void v8_lines_deinit(struct v8_lines *lines);

/** Finds line and column of the character at @offset; -ENOENT: the script is shorter. */
int v8_lines_locate(const struct v8_lines *lines, uint32_t offset, struct v8_location *location);

#endif
