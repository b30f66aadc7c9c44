/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lines and columns of places in a script. Functions and position tables of V8 name a place by its offset in the
 * source, in UTF-16 units. Where lines end is in Script.line_ends once V8 itself was asked for a line (an Error's
 * stack); before, which is the normal case, it is counted in the source, which the process keeps in its memory.
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

/** Of one script. */
struct v8_lines {
	/** Where each line ends: the offset of its terminator, or for the last line of the end. Ascending. Owned. */
	uint32_t *ends;
	uint32_t count;
	/** Where the source stands in what it was taken from (vm.Script's lineOffset); 0 mostly. */
	int32_t line_offset;
	int32_t column_offset;
};

/** From 1 on. */
struct v8_place {
	uint32_t line;
	uint32_t column;
};

/**
 * Finds the lines of the Script at tagged @script. -EBADMSG: it is none, or has no source that is a string; -E2BIG
 * over a limit; -ENOMEM, -EFAULT, -ESRCH.
 */
int v8_lines_read(const struct v8_heap *heap, uint64_t script, struct v8_lines *lines);
void v8_lines_deinit(struct v8_lines *lines);

/** The place of the character @offset; -ENOENT: it is behind the end. */
int v8_lines_place(const struct v8_lines *lines, uint32_t offset, struct v8_place *place);

#endif
