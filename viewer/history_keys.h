/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Keys of samples: all that distinguishes them but their times and CPUs, each stored once, with dense ids and use
 * counts. The fields of a sample without its stack are stored once for all of its stacks (a context). A stack is a
 * chain of parts (viewer/stack_parts.h), each of a few frames and the id of the part above it, its caller, and stacks
 * share the parts of their callers. The frames around the leaf are in the key itself.
 *
 * Not thread-safe, but keys may be read through a snapshot while others are added.
 */
#ifndef VIEWER_HISTORY_KEYS_H
#define VIEWER_HISTORY_KEYS_H

#include "lib/base/vector.h"
#include "reporter/sample_table.h"
#include "reporter/sequence_counts.h"
#include "viewer/frame_shapes.h"
#include "viewer/stack_parts.h"

struct recent_keys;

VECTOR_DEFINE(stack_frame_vector, struct frame)
VECTOR_DEFINE(key_bits_vector, uint64_t)

struct history_keys {
	struct sample_table contexts;
	/** The trace of all contexts: it has no frames. */
	struct trace *no_trace;
	struct frame_shapes shapes;
	struct stack_parts callers;
	struct stack_parts keys;
	/** The number of keys that were ever made. */
	uint64_t made;
	/** A cache in front of the tables. NULL until it is needed. */
	struct recent_keys *recent;
	bool recent_is_stale;
	/** A bit for each key that was freed since history_keys_take_freed(), even if its id is in use again. */
	struct key_bits_vector freed;
	bool has_freed;
};

/** -ENOMEM. */
int history_keys_init(struct history_keys *keys);
void history_keys_deinit(struct history_keys *keys);

/** Allocated memory. */
size_t history_keys_bytes(const struct history_keys *keys);

/**
 * Adds a use of the key of @sample, without its CPU. *@id is the key's id. -ENOMEM, -E2BIG; then no key has
 * changed.
 */
int history_keys_add(struct history_keys *keys, const struct sample *sample, uint32_t *id);

/** Removes a use, and the key with its last use. */
void history_keys_remove(struct history_keys *keys, uint32_t id);

/** The fields of a key, without a CPU and with a trace that has no frames. Valid until keys are added or removed. */
const struct sample *history_keys_sample(const struct history_keys *keys, uint32_t id);

/** Moves the bits of the freed keys to @freed, an empty vector that the caller frees. -ENOMEM: the bits stay. */
int history_keys_take_freed(struct history_keys *keys, struct key_bits_vector *freed);

/* --- reading --- */

/**
 * Copies of the lists of blocks. Keys that existed when they were made can be read until one of them is removed.
 */
struct history_keys_snapshot {
	struct slot_block **keys;
	struct slot_block **callers;
	struct sample_entry **contexts;
	struct slot_block **shapes;
	/** All ids are below this. */
	uint32_t limit;
};

/** The caller must deinit it, even on error. -ENOMEM. */
int history_keys_snapshot_init(struct history_keys_snapshot *snapshot,
			       const struct history_keys *keys);
void history_keys_snapshot_deinit(struct history_keys_snapshot *snapshot);

/**
 * Identifies the frames of a stack, among the keys that exist at one time. Equal stacks have the same identity whatever their contexts,
 * and stacks that differ never do.
 */
struct stack_identity {
	uint64_t words[4];
};

/** The stack of a key, as struct trace has it. */
struct key_stack {
	/** Outermost first. What they point to is borrowed from the snapshot. */
	struct stack_frame_vector frames;
	bool is_complete;
	bool is_kernel_thread;
	bool has_guess;
	/** Memory for the next stack: ids of its parts. */
	struct number_vector parts;
};

void key_stack_deinit(struct key_stack *stack);

/** The fields of a key, without a CPU and with a trace that has no frames. */
const struct sample *history_key_sample(const struct history_keys_snapshot *snapshot, uint32_t id);

bool history_key_is_complete(const struct history_keys_snapshot *snapshot, uint32_t id);

struct stack_identity history_key_identity(const struct history_keys_snapshot *snapshot,
					   uint32_t id);

/** Replaces the stack in *@stack, which starts as zeros. -ENOMEM. */
int history_key_stack(const struct history_keys_snapshot *snapshot, uint32_t id,
		      struct key_stack *stack);

/** The stack as a trace that the caller must unref; NULL without memory. */
struct trace *history_key_trace(const struct history_keys_snapshot *snapshot, uint32_t id);

#endif
