/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names the interpreted frames of one stack after the other. What the languages say of a frame lives
 * until they are asked again, so it is copied and kept until the next stack. A frame that cannot be
 * named, since its function was freed, its process is gone or its runtime was let go, reads
 * `[python: no name]`, with the name of its language.
 *
 * Nothing of a frame's place in the process's memory is left in it: the same function and line is
 * the same frame in every process. Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_INTERPRETED_NAMES_H
#define AGENT_PROCESSES_INTERPRETED_NAMES_H

#include <stdint.h>

#include "agent/base/trace.h"
#include "agent/processes/process_runtime.h"

enum {
	/** Of one stack; further frames have no name. A stack in the trace cache is smaller. */
	INTERPRETED_NAMES_MAX_BYTES = 1 << 20,
	/** Frames of a stack that were named last: recursion asks for the same again and again. */
	INTERPRETED_NAMES_RECENT = 16,
};

struct name_chunk;

struct recent_name {
	uint64_t words[2];
	/** Where they were put. */
	const struct frame *frames;
	uint32_t count;
};

struct interpreted_names {
	/** Borrowed; NULL: there are none. */
	const struct runtime_set *runtimes;
	/** The newest first; the oldest is kept from stack to stack. */
	struct name_chunk *chunks;
	size_t byte_count;
	uint32_t recent_count;
	struct recent_name recent[INTERPRETED_NAMES_RECENT];
	/** What a frame without a name is called. */
	char nameless[32];
};

/** All bytes zero is a good start, too. */
void interpreted_names_deinit(struct interpreted_names *names);

/** The frames to come are of a process with these runtimes; names given so far are gone. */
void interpreted_names_begin(struct interpreted_names *names, const struct runtime_set *runtimes);

/**
 * Fills *@count frames from the two words, 1 to INTERPRETED_FRAMES_MAX, innermost first. They have to stay
 * as they are until the next begin, and so long their strings last. -ENOENT: the frame is of no function
 * of the program, and is to be left out. Other errors: it is one frame without a name, and may get one
 * another time.
 */
int interpreted_names_put(struct interpreted_names *names, const uint64_t words[2],
			  struct frame *frames, uint32_t *count);

#endif
