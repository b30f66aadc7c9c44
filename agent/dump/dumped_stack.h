/* SPDX-License-Identifier: Apache-2.0 */
/** A thread as `-dump` shows it: its state, and its frames with names. */
#ifndef AGENT_DUMP_DUMPED_STACK_H
#define AGENT_DUMP_DUMPED_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/text_builder.h"
#include "lib/base/vector.h"

enum dumped_frame_flag {
	DUMPED_INLINED = 1 << 0,
	DUMPED_GUESS = 1 << 1,
	DUMPED_APPROXIMATE = 1 << 2,
	/** The frame stands for interpreted ones that are missing. */
	DUMPED_MISSING = 1 << 3,
	DUMPED_KERNEL = 1 << 4,
};

/** Strings are offsets in the texts of the stack; 0 is "". */
struct dumped_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
	/** enum dumped_frame_flag */
	uint8_t flags;
	/** enum frame_kind of the language that has named the frame, else 0. */
	uint8_t language;
};

VECTOR_DEFINE(dumped_frame_vector, struct dumped_frame)

enum {
	DUMPED_NAME_BYTES = 16,
	DUMPED_STATE_BYTES = 96,
	DUMPED_WHY_BYTES = 96,
};

struct dumped_thread {
	pid_t tid;
	char name[DUMPED_NAME_BYTES];
	/** "running", "waiting in futex". */
	char state[DUMPED_STATE_BYTES];
	/** The thread was not stopped, and its frames are the kernel's; or the stack is not complete: the reason. "": complete. */
	char why[DUMPED_WHY_BYTES];
	bool was_stopped;
	/** Since the first thread of the process was stopped, and how long this one stood still. */
	uint64_t after_ns;
	uint64_t still_ns;
	/** Leaf first. */
	struct dumped_frame_vector frames;
	/** Strings, each with its NUL; the first is "". */
	struct text_builder texts;
};

VECTOR_DEFINE(dumped_thread_vector, struct dumped_thread)

struct dumped_process {
	pid_t pid;
	char name[DUMPED_NAME_BYTES];
	char *command;
	struct dumped_thread_vector threads;
};

void dumped_thread_deinit(struct dumped_thread *thread);
void dumped_process_deinit(struct dumped_process *process);

/** Adds a frame with these names, which may be NULL; a failure marks thread->texts. */
void dumped_thread_add(struct dumped_thread *thread, struct dumped_frame frame,
		       const char *function, const char *file);

static inline const char *dumped_text(const struct dumped_thread *thread, uint32_t offset)
{
	return thread->texts.text + offset;
}

/** Appends the process as text, or as an object of JSON. */
void dumped_process_append_text(const struct dumped_process *process, struct text_builder *text);
void dumped_process_append_json(const struct dumped_process *process, struct text_builder *text);

#endif
