/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names the interpreted frames of one stack after the other. All frames of a stack that are not known yet are asked for
 * in one round (runtime_home.h), and what a runtime says of an object that it has identified is cached here, since
 * such a round takes longer than everything else. Names live until the next stack. A frame that cannot be named, since
 * its function was freed, its process is gone or its runtime was let go, reads `[python: no name]`, with the name of
 * its language; one whose process has memory that does not answer is an error frame.
 *
 * Nothing of a frame's address in the process's memory is left in it: the same function and line is
 * the same frame in every process. Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_RUNTIMES_INTERPRETED_NAMES_H
#define AGENT_PROCESSES_RUNTIMES_INTERPRETED_NAMES_H

#include <stdint.h>

#include "agent/processes/runtimes/process_runtime.h"
#include "lib/base/lru_cache.h"
#include "lib/base/vector.h"
#include "lib/model/trace.h"

enum {
	/** Of one stack; further frames have no name. A stack in the trace cache is smaller. */
	INTERPRETED_NAMES_MAX_BYTES = 1 << 20,
	/** More than twice the interpreted frames in a stack; a power of two. */
	INTERPRETED_NAMES_PLACES = 1 << 13,
	/** The limits of the cache. */
	INTERPRETED_NAMES_CACHE_ENTRIES = 16 << 10,
	INTERPRETED_NAMES_CACHE_BYTES = 4 << 20,
};

struct name_chunk;

/** A frame of the stack, and what became of it. */
struct stack_name {
	/** The third is that of an owner, or 0; the others tell frames apart. */
	uint64_t words[3];
	/** As language_ops.symbolize() and runtime_home_ops.name(). */
	int err;
	/** Without an error: its frames among those of the stack. */
	uint32_t first_frame;
	uint32_t frame_count;
	/** Its own among the places. */
	uint32_t place;
};

VECTOR_DEFINE(stack_name_vector, struct stack_name)
VECTOR_DEFINE(named_frame_vector, struct frame)

struct interpreted_names {
	/** Borrowed; NULL: there are none. */
	const struct runtime_set *runtimes;
	/** The newest first; the oldest is kept from stack to stack. */
	struct name_chunk *chunks;
	size_t byte_count;
	/** The different interpreted frames of the stack; hash table of their indices, plus 1; what they are called. */
	struct stack_name_vector stack;
	uint16_t places[INTERPRETED_NAMES_PLACES];
	struct named_frame_vector frames;
	/** Of the questions. */
	struct name_query queries[NAME_QUERIES_MAX];
	uint32_t asked[NAME_QUERIES_MAX];
	struct name_answers answers;
	/** struct name_key -> struct kept_name. */
	struct lru_cache cache;
	/** What a frame without a name is called. */
	char nameless[32];
};

void interpreted_names_init(struct interpreted_names *names);
void interpreted_names_deinit(struct interpreted_names *names);

/** Now and then: forgets what no stack had since the call before. */
void interpreted_names_age(struct interpreted_names *names);

/**
 * The frames to come are those of @words, whole frames, of a process with these runtimes; names given so far are
 * gone.
 */
void interpreted_names_begin(struct interpreted_names *names, const struct runtime_set *runtimes,
			     const uint64_t *words, uint32_t word_count);

/**
 * Fills *@count frames from the words of a frame, 1 to INTERPRETED_FRAMES_MAX, innermost first; their strings last until the
 * next begin. -ENOENT: the frame is of no function of the program, and is to be left out. Other errors: it is one frame
 * without a name (-EHOSTDOWN: an error frame), and may get one another time.
 */
int interpreted_names_put(struct interpreted_names *names, const uint64_t words[2],
			  struct frame *frames, uint32_t *count);

#endif
