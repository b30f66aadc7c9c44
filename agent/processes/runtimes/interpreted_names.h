/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names the interpreted frames of one stack after the other. All unknown frames of a stack are requested in one
 * round (runtime_home.h). Since such a round takes longer than everything else, names of objects that a runtime
 * has identified are cached here. Names live until the next stack. A frame that cannot be named, since its
 * function was freed, its process is gone or its runtime was released, reads `[python: no name]`, with the name
 * of its language. If the memory of its process does not answer, it becomes an error frame.
 *
 * A named frame does not contain its address in the process's memory: the same function and line is the same
 * frame in every process. Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_RUNTIMES_INTERPRETED_NAMES_H
#define AGENT_PROCESSES_RUNTIMES_INTERPRETED_NAMES_H

#include <stdint.h>

#include "agent/processes/runtimes/process_runtime.h"
#include "lib/base/lru_cache.h"
#include "lib/base/vector.h"
#include "lib/model/trace.h"

enum {
	/** Bytes of names of one stack; further frames have no name. A stack in the trace cache is smaller. */
	INTERPRETED_NAMES_MAX_BYTES = 1 << 20,
	/** Slots of the hash table: more than twice the interpreted frames in a stack; a power of two. */
	INTERPRETED_NAMES_SLOTS = 1 << 13,
	/** The limits of the cache. */
	INTERPRETED_NAMES_CACHE_ENTRIES = 16 << 10,
	INTERPRETED_NAMES_CACHE_BYTES = 4 << 20,
};

struct name_chunk;

/** A frame of the stack and its names. */
struct stack_name {
	/** The words of the frame; 0 for a third one that it does not have. */
	uint64_t words[3];
	/** Result of language_ops.symbolize() or runtime_home_ops.name(). */
	int err;
	/** Without an error: its range in the frames of the stack. */
	uint32_t first_frame;
	uint32_t frame_count;
	/** Its index in slots. */
	uint32_t slot;
};

VECTOR_DEFINE(stack_name_vector, struct stack_name)
VECTOR_DEFINE(named_frame_vector, struct frame)

struct interpreted_names {
	/** Borrowed; NULL: there are none. */
	const struct runtime_set *runtimes;
	/** Chunks of strings, the newest first. The oldest is reused for the next stack. */
	struct name_chunk *chunks;
	size_t byte_count;
	/**
	 * The distinct interpreted frames of the stack; a hash table of their indexes plus 1; their named
	 * frames.
	 */
	struct stack_name_vector stack;
	uint16_t slots[INTERPRETED_NAMES_SLOTS];
	struct named_frame_vector frames;
	/** The current round of queries, the index in stack of each, and the answers. */
	struct name_query queries[NAME_QUERIES_MAX];
	uint32_t asked[NAME_QUERIES_MAX];
	struct name_answers answers;
	/** struct name_key -> struct cached_name. */
	struct lru_cache cache;
	/** Text for a frame without a name. */
	char nameless[32];
};

void interpreted_names_init(struct interpreted_names *names);
void interpreted_names_deinit(struct interpreted_names *names);

/** To be called now and then: drops cached names that no stack had since the previous call. */
void interpreted_names_age(struct interpreted_names *names);

/**
 * Begins the next stack: @words are whole frames of a process with these runtimes. Names of the previous stack
 * become invalid.
 */
void interpreted_names_begin(struct interpreted_names *names, const struct runtime_set *runtimes,
			     const uint64_t *words, uint32_t word_count);

/**
 * Fills *@count frames from the words of a frame, 1 to INTERPRETED_FRAMES_MAX, innermost first. Their strings
 * are valid until the next begin. -ENOENT: the frame is no function of the program and must be left out. Other
 * errors: it is one frame without a name (-EHOSTDOWN: an error frame), and may get a name another time.
 */
int interpreted_names_put(struct interpreted_names *names, const uint64_t *words,
			  struct frame *frames, uint32_t *count);

#endif
