/* SPDX-License-Identifier: Apache-2.0 */
/** A key under which equal frames are one location, for output formats that share locations. */
#ifndef REPORTER_FRAME_KEY_H
#define REPORTER_FRAME_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/trace.h"

/** Compared and hashed as bytes; no padding. */
struct frame_key {
	/** The output format's number for the frame's file or mapping. */
	uint64_t mapping;
	uint64_t address;
	/** For frames that carry their name, ids of strings; else 0. */
	uint64_t function;
	uint64_t file;
	uint32_t line;
	uint32_t column;
	uint32_t start_line;
	uint8_t kind;
	uint8_t flags;
	uint8_t error;
	uint8_t reserved;
};

_Static_assert(sizeof(struct frame_key) == 48, "struct frame_key has no padding");

/** Makes a key without function and file. The caller sets these two if frame_carries_name(). */
static inline struct frame_key frame_key_make(const struct frame *frame, uint64_t mapping)
{
	struct frame_key key = {
		.mapping = mapping,
		.kind = frame->kind,
		.flags = frame->flags &
			 (FRAME_GUESS | FRAME_INLINED | FRAME_APPROXIMATE | FRAME_SHOWS_GENERATED),
	};

	if (frame->kind == FRAME_ERROR)
		/* One location per reason: the previous frame shows where the error happened. */
		key.error = frame->error;
	else
		key.address = frame_lookup_address(frame);
	if (frame_carries_name(frame)) {
		key.line = frame->line;
		key.column = frame->column;
		key.start_line = frame->start_line;
	}
	return key;
}

#endif
