/* SPDX-License-Identifier: Apache-2.0 */
/** What tells frames apart, for formats in which equal ones are one location. */
#ifndef REPORTER_FRAME_KEY_H
#define REPORTER_FRAME_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/trace.h"

/** To be compared and hashed as bytes: no padding. */
struct frame_key {
	/** Number of the format's own for the file or mapping that the frame lies in. */
	uint64_t place;
	uint64_t address;
	/** For frames that carry their name with them, numbers of texts; else 0. */
	uint64_t function;
	uint64_t file;
	uint32_t line;
	uint8_t kind;
	uint8_t flags;
	uint8_t error;
	uint8_t reserved;
};

_Static_assert(sizeof(struct frame_key) == 40, "struct frame_key has no padding");

/** All but function and file, which are the caller's to set where frame_carries_name(). */
static inline struct frame_key frame_key_make(const struct frame *frame, uint64_t place)
{
	struct frame_key key = {
		.place = place,
		.kind = frame->kind,
		.flags = frame->flags &
			 (FRAME_GUESS | FRAME_INLINED | FRAME_APPROXIMATE | FRAME_SHOWS_GENERATED),
	};

	if (frame->kind == FRAME_ERROR)
		/* One location per reason: where it happened is in the frame before it. */
		key.error = frame->error;
	else
		key.address = frame_lookup_address(frame);
	if (frame_carries_name(frame))
		key.line = frame->line;
	return key;
}

#endif
