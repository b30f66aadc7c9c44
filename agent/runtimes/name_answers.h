/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches of queries for the names of interpreted frames, and their answers in a form that can be sent to
 * another process: arrays of numbers, and texts.
 */
#ifndef AGENT_RUNTIMES_NAME_ANSWERS_H
#define AGENT_RUNTIMES_NAME_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/language.h"
#include "lib/base/vector.h"

enum {
	/** Queries in a batch. */
	NAME_QUERIES_MAX = 1000,
	/** Limits of all answers together; further frames have no names. */
	NAME_ANSWERS_MAX_FRAMES = 1 << 14,
	NAME_ANSWERS_MAX_TEXT_BYTES = 1 << 20,
};

/** The words of a frame, and its identified object (language_ops.symbolize). */
struct name_query {
	uint64_t words[3];
	uint32_t object;
	uint32_t reserved;
};

struct name_answer {
	/** Result of language_ops.symbolize(); without an error there are frames. */
	int32_t err;
	uint32_t object;
	/** Index of its first frame in frames, and their number. */
	uint32_t first_frame;
	uint32_t frame_count;
};

enum name_flag {
	NAME_INLINED = 1 << 0,
	NAME_APPROXIMATE = 1 << 1,
	NAME_MARKS_TRACE = 1 << 2,
};

/** A frame with offsets of its texts; file NAME_NO_TEXT: it is not known. */
struct name_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint32_t column;
	uint32_t start_line;
	uint32_t flags;
};

#define NAME_NO_TEXT UINT32_MAX

VECTOR_DEFINE(name_answer_vector, struct name_answer)
VECTOR_DEFINE(name_frame_vector, struct name_frame)
VECTOR_DEFINE(name_text_vector, char)

/** All bytes zero: none. */
struct name_answers {
	struct name_answer_vector answers;
	struct name_frame_vector frames;
	struct name_text_vector texts;
};

void name_answers_deinit(struct name_answers *answers);
void name_answers_clear(struct name_answers *answers);

/**
 * Adds the result of symbolize(); @frames is used if @err is 0. A result that does not fit gets the error
 * -ENOMEM.
 */
int name_answers_add(struct name_answers *answers, int err, uint32_t object,
		     const struct interpreted_frames *frames);

/**
 * Whether answers from another process are as many as there were queries, and all their offsets are within
 * bounds.
 */
bool name_answers_are_valid(const struct name_answers *answers, size_t query_count);

/** The frame in the form that languages return; its texts are borrowed. */
struct interpreted_frame name_answers_frame(const struct name_answers *answers,
					    const struct name_answer *answer, uint32_t index);

#endif
