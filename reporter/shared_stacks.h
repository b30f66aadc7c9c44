/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stacks as tables that refer to each other by index, as JSON formats have them: a stack is a frame and the stack of its
 * caller, so that equal beginnings are shared; a frame is a position in a function; texts are there once.
 */
#ifndef REPORTER_SHARED_STACKS_H
#define REPORTER_SHARED_STACKS_H

#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "reporter/sample_store.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

/** The index of no caller and of no library. */
#define SHARED_NONE UINT32_MAX

struct shared_function {
	/** Texts; an unknown file is the empty text 0. */
	uint32_t name;
	uint32_t file;
	uint32_t library;
	struct text_trait trait;
};

struct shared_frame {
	uint32_t function;
	/** 0 if unknown. */
	uint32_t line;
	uint32_t column;
};

struct shared_stack {
	uint32_t frame;
	/** Below the stack's own index, or SHARED_NONE. */
	uint32_t caller;
};

VECTOR_DEFINE(shared_text_vector, char *)
VECTOR_DEFINE(shared_library_vector, const struct binary *)
VECTOR_DEFINE(shared_function_vector, struct shared_function)
VECTOR_DEFINE(shared_frame_vector, struct shared_frame)
VECTOR_DEFINE(shared_stack_vector, struct shared_stack)

/** All but the snapshot's binaries is owned. */
struct shared_stacks {
	struct shared_text_vector texts;
	struct shared_library_vector libraries;
	struct shared_function_vector functions;
	struct shared_frame_vector frames;
	struct shared_stack_vector stacks;
	/** The stack of each sample of the snapshot; SHARED_NONE for one without frames. */
	struct number_vector of_samples;
	/** Maps a text, function, frame or stack to its index. */
	struct hash_map text_ids;
	struct hash_map library_ids;
	struct hash_map function_ids;
	struct hash_map frame_ids;
	struct hash_map stack_ids;
};

/**
 * Names all frames of the snapshot, which is borrowed. Names have the marks of folded stacks (reporter/stack_text.h) if
 * @with_marks; else only guesses have theirs. @lookup may be NULL. -ENOMEM.
 */
int shared_stacks_init(struct shared_stacks *stacks, const struct sample_snapshot *snapshot,
		       struct symbol_lookup *lookup, bool with_marks);
void shared_stacks_deinit(struct shared_stacks *stacks);

#endif
