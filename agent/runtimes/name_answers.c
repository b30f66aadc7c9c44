/* SPDX-License-Identifier: Apache-2.0 */
/* The answers come from a program of ours that has read hostile memory, so nothing in them is trusted. */
#include "agent/runtimes/name_answers.h"

#include <errno.h>
#include <string.h>

void name_answers_deinit(struct name_answers *answers)
{
	name_answer_vector_deinit(&answers->answers);
	name_frame_vector_deinit(&answers->frames);
	name_text_vector_deinit(&answers->texts);
}

void name_answers_clear(struct name_answers *answers)
{
	answers->answers.count = 0;
	answers->frames.count = 0;
	answers->texts.count = 0;
}

/* Adds @text and gives its offset, NAME_NO_TEXT for NULL. -ENOMEM. */
static int add_text(struct name_answers *answers, const char *text, uint32_t *offset)
{
	struct name_text_vector *texts = &answers->texts;
	size_t bytes;

	*offset = NAME_NO_TEXT;
	if (!text)
		return 0;
	bytes = strlen(text) + 1;
	if (texts->count + bytes > NAME_ANSWERS_MAX_TEXT_BYTES ||
	    name_text_vector_reserve(texts, texts->count + bytes))
		return -ENOMEM;
	memcpy(texts->items + texts->count, text, bytes);
	*offset = (uint32_t)texts->count;
	texts->count += bytes;
	return 0;
}

static int add_frame(struct name_answers *answers, const struct interpreted_frame *frame)
{
	struct name_frame added = {
		.line = frame->line,
		.column = frame->column,
		.start_line = frame->start_line,
		.flags = (frame->is_inlined ? NAME_INLINED : 0) |
			 (frame->is_approximate ? NAME_APPROXIMATE : 0) |
			 (frame->marks_trace ? NAME_MARKS_TRACE : 0),
	};
	int err = add_text(answers, frame->function, &added.function);

	if (!err)
		err = add_text(answers, frame->file, &added.file);
	if (!err && answers->frames.count == NAME_ANSWERS_MAX_FRAMES)
		err = -ENOMEM;
	return err ? err : name_frame_vector_push(&answers->frames, added);
}

int name_answers_add(struct name_answers *answers, int err, uint32_t object,
		     const struct interpreted_frames *frames)
{
	struct name_answer answer = {
		.err = err,
		.object = object,
		.first_frame = (uint32_t)answers->frames.count,
	};
	size_t text_count = answers->texts.count;

	for (uint32_t i = 0; !answer.err && i < frames->count; i++)
		answer.err = add_frame(answers, &frames->items[i]);
	if (answer.err) {
		answers->frames.count = answer.first_frame;
		answers->texts.count = text_count;
	}
	answer.frame_count = (uint32_t)answers->frames.count - answer.first_frame;
	return name_answer_vector_push(&answers->answers, answer);
}

static bool is_text(const struct name_answers *answers, uint32_t offset)
{
	return offset < answers->texts.count;
}

bool name_answers_are_valid(const struct name_answers *answers, size_t query_count)
{
	const struct name_text_vector *texts = &answers->texts;

	if (answers->answers.count != query_count ||
	    (texts->count && texts->items[texts->count - 1]))
		return false;
	for (size_t i = 0; i < answers->frames.count; i++) {
		const struct name_frame *frame = &answers->frames.items[i];

		if (!is_text(answers, frame->function) ||
		    (frame->file != NAME_NO_TEXT && !is_text(answers, frame->file)))
			return false;
	}
	for (size_t i = 0; i < query_count; i++) {
		const struct name_answer *answer = &answers->answers.items[i];

		if (answer->first_frame > answers->frames.count ||
		    answer->frame_count > answers->frames.count - answer->first_frame ||
		    answer->frame_count > INTERPRETED_FRAMES_MAX ||
		    (!answer->err && !answer->frame_count) || answer->err > 0)
			return false;
	}
	return true;
}

struct interpreted_frame name_answers_frame(const struct name_answers *answers,
					    const struct name_answer *answer, uint32_t index)
{
	const struct name_frame *frame = &answers->frames.items[answer->first_frame + index];
	const char *texts = answers->texts.items;

	return (struct interpreted_frame){
		.function = texts + frame->function,
		.file = frame->file == NAME_NO_TEXT ? NULL : texts + frame->file,
		.line = frame->line,
		.column = frame->column,
		.start_line = frame->start_line,
		.is_inlined = frame->flags & NAME_INLINED,
		.is_approximate = frame->flags & NAME_APPROXIMATE,
		.marks_trace = frame->flags & NAME_MARKS_TRACE,
	};
}
