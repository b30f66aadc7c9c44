/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Turns stacks into lists of ids. A callback interns the name of each function; it is called
 * once per address of native code.
 */
#ifndef REPORTER_STACK_IDS_H
#define REPORTER_STACK_IDS_H

#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_text.h"

struct recent_frame;

/** Initialize with zeros and set the first three fields. */
struct stack_ids {
	/** May be NULL. */
	struct symbol_lookup *lookup;
	/** -ENOMEM. @name is borrowed for the call. */
	int (*intern)(void *context, const struct named_frame *name, uint32_t *id);
	void *context;
	/**
	 * Maps a native frame to the index of its first id in expansions << 8 | their count.
	 */
	struct hash_map native_frames;
	struct number_vector expansions;
	/** A cache in front of the map, which is too large for those of a CPU; NULL until it is needed. */
	struct recent_frame *recent_frames;
};

void stack_ids_deinit(struct stack_ids *ids);

/** Appends the ids of @trace to @stack, outermost first. -ENOMEM. */
int stack_ids_append(struct stack_ids *ids, const struct trace *trace, struct number_vector *stack);

/** The same for @count frames, outermost first. */
int stack_ids_append_frames(struct stack_ids *ids, const struct frame *frames, size_t count,
			    struct number_vector *stack);

#endif
