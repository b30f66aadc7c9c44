/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Questions for the names of interpreted frames, many at a time, and their answers in a form that goes from one
 * process to another: arrays of numbers, and texts.
 */
#ifndef AGENT_RUNTIMES_NAME_ANSWERS_H
#define AGENT_RUNTIMES_NAME_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/language.h"
#include "lib/base/vector.h"

enum {
	/** Questions at a time. */
	NAME_QUERIES_MAX = 1000,
	/** The limits of all answers together: more frames have no names. */
	NAME_ANSWERS_MAX_FRAMES = 1 << 14,
	NAME_ANSWERS_MAX_TEXT_BYTES = 1 << 20,
};

/** The words of a frame, and the object that was told of for it (language_ops.symbolize). */
struct name_query {
	uint64_t words[3];
	uint32_t object;
	uint32_t reserved;
};

struct name_answer {
	/** As language_ops.symbolize() says; without an error there are frames. */
	int32_t err;
	uint32_t object;
	/** Of the frames, where its own begin, and how many they are. */
	uint32_t first_frame;
	uint32_t frame_count;
};

enum name_flag {
	NAME_INLINED = 1 << 0,
	NAME_APPROXIMATE = 1 << 1,
	NAME_MARKS_TRACE = 1 << 2,
};

/** Texts by their places among the texts; file NAME_NO_TEXT: it is not known. */
struct name_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
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

/** Adds what symbolize() said; @frames counts if @err is 0. What there is no room for has the error -ENOMEM. */
int name_answers_add(struct name_answers *answers, int err, uint32_t object,
		     const struct interpreted_frames *frames);

/** Whether answers that came from elsewhere are as many as there were questions, and stay within themselves. */
bool name_answers_are_valid(const struct name_answers *answers, size_t query_count);

/** The frame as the languages tell it; its texts are borrowed. */
struct interpreted_frame name_answers_frame(const struct name_answers *answers,
					    const struct name_answer *answer, uint32_t index);

#endif
