// SPDX-License-Identifier: Apache-2.0
/* Names come from hostile programs; text_builder_append_name() leaves valid UTF-8 without control characters. */
#include "agent/dump/dumped_stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/model/languages.h"

#define NS_PER_US (NS_PER_MS / 1000)

void dumped_thread_deinit(struct dumped_thread *thread)
{
	dumped_frame_vector_deinit(&thread->frames);
	text_builder_deinit(&thread->texts);
}

void dumped_process_deinit(struct dumped_process *process)
{
	for (size_t i = 0; i < process->threads.count; i++)
		dumped_thread_deinit(&process->threads.items[i]);
	dumped_thread_vector_deinit(&process->threads);
	free(process->command);
	*process = (struct dumped_process){ 0 };
}

/* The offset of a copy of @text. */
static uint32_t add_text(struct dumped_thread *thread, const char *text)
{
	struct text_builder *texts = &thread->texts;
	size_t offset;

	if (!texts->length)
		text_builder_append_bytes(texts, "", 1);
	if (!text || !*text)
		return 0;
	offset = texts->length;
	text_builder_append_name(texts, text);
	text_builder_append_bytes(texts, "", 1);
	return texts->failed ? 0 : (uint32_t)offset;
}

void dumped_thread_add(struct dumped_thread *thread, struct dumped_frame frame,
		       const char *function, const char *file)
{
	frame.function = add_text(thread, function);
	frame.file = add_text(thread, file);
	if (dumped_frame_vector_push(&thread->frames, frame))
		thread->texts.failed = true;
}

static const char *without_folders(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *language_of(const struct dumped_frame *frame)
{
	for (uint32_t i = 0; frame->language && i < LANGUAGE_COUNT; i++) {
		if (language_ids[i].kind == frame->language)
			return language_ids[i].name;
	}
	return frame->flags & DUMPED_KERNEL ? "kernel" : "native";
}

/* --- text --- */

static void append_frame(const struct dumped_thread *thread, const struct dumped_frame *frame,
			 uint32_t number, struct text_builder *text)
{
	const char *file = without_folders(dumped_text(thread, frame->file));

	text_builder_format(text, "    #%-3" PRIu32 " %s", number,
			    dumped_text(thread, frame->function));
	if (*file && frame->line)
		text_builder_format(text, " (%s:%" PRIu32 ")", file, frame->line);
	else if (*file)
		text_builder_format(text, " (%s)", file);
	if (frame->language)
		text_builder_format(text, " [%s]", language_of(frame));
	if (frame->flags & DUMPED_KERNEL)
		text_builder_append(text, " [kernel]");
	if (frame->flags & DUMPED_INLINED)
		text_builder_append(text, " [inlined]");
	if (frame->flags & DUMPED_GUESS)
		text_builder_append(text, " [guess]");
	text_builder_append(text, "\n");
}

static void append_thread(const struct dumped_thread *thread, struct text_builder *text)
{
	text_builder_format(text, "  thread %d ", thread->tid);
	text_builder_append_name(text, thread->name);
	text_builder_format(text, ": %s\n", thread->state);
	for (size_t i = 0; i < thread->frames.count; i++)
		append_frame(thread, &thread->frames.items[i], (uint32_t)i, text);
	if (*thread->why)
		text_builder_format(text, "    (%s)\n", thread->why);
}

void dumped_process_append_text(const struct dumped_process *process, struct text_builder *text)
{
	text_builder_format(text, "process %d ", process->pid);
	text_builder_append_name(text, process->name);
	text_builder_append(text, ": ");
	text_builder_append_name(text, process->command ? process->command : "");
	text_builder_append(text, "\n");
	for (size_t i = 0; i < process->threads.count; i++)
		append_thread(&process->threads.items[i], text);
}

/* --- JSON --- */

/* Appends @name as a string: of control characters none is left, so only two characters need an escape (RFC 8259, 7). */
static void append_string(struct text_builder *text, const char *name)
{
	struct text_builder clean = { 0 };

	text_builder_append_name(&clean, name);
	text_builder_append(text, "\"");
	for (const char *at = text_builder_text(&clean); *at; at++) {
		if (*at == '"' || *at == '\\')
			text_builder_append(text, "\\");
		text_builder_append_bytes(text, at, 1);
	}
	text_builder_append(text, "\"");
	text->failed |= clean.failed;
	text_builder_deinit(&clean);
}

static void append_field(struct text_builder *text, const char *key, const char *value)
{
	text_builder_format(text, "\"%s\":", key);
	append_string(text, value);
}

static void append_json_frame(const struct dumped_thread *thread, const struct dumped_frame *frame,
			      struct text_builder *text)
{
	text_builder_append(text, "{");
	append_field(text, "function", dumped_text(thread, frame->function));
	text_builder_append(text, ",");
	append_field(text, "file", dumped_text(thread, frame->file));
	text_builder_format(text, ",\"line\":%" PRIu32 ",", frame->line);
	append_field(text, "language", language_of(frame));
	if (frame->flags & DUMPED_INLINED)
		text_builder_append(text, ",\"inlined\":true");
	if (frame->flags & DUMPED_GUESS)
		text_builder_append(text, ",\"guess\":true");
	if (frame->flags & DUMPED_MISSING)
		text_builder_append(text, ",\"missing\":true");
	text_builder_append(text, "}");
}

static void append_json_thread(const struct dumped_thread *thread, struct text_builder *text)
{
	text_builder_format(text, "{\"tid\":%d,", thread->tid);
	append_field(text, "name", thread->name);
	text_builder_append(text, ",");
	append_field(text, "state", thread->state);
	text_builder_format(text, ",\"stopped\":%s,\"after_us\":%llu,\"still_us\":%llu,",
			    thread->was_stopped ? "true" : "false",
			    (unsigned long long)(thread->after_ns / NS_PER_US),
			    (unsigned long long)(thread->still_ns / NS_PER_US));
	append_field(text, "why", thread->why);
	text_builder_append(text, ",\"frames\":[");
	for (size_t i = 0; i < thread->frames.count; i++) {
		text_builder_append(text, i ? "," : "");
		append_json_frame(thread, &thread->frames.items[i], text);
	}
	text_builder_append(text, "]}");
}

void dumped_process_append_json(const struct dumped_process *process, struct text_builder *text)
{
	text_builder_format(text, "{\"pid\":%d,", process->pid);
	append_field(text, "name", process->name);
	text_builder_append(text, ",");
	append_field(text, "command", process->command ? process->command : "");
	text_builder_append(text, ",\"threads\":[");
	for (size_t i = 0; i < process->threads.count; i++) {
		text_builder_append(text, i ? "," : "");
		append_json_thread(&process->threads.items[i], text);
	}
	text_builder_append(text, "]}");
}
