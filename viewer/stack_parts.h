/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Parts of stacks, each stored once, with ids and use counts. A part is a few bytes of content and the id of
 * the part above it, its caller, so stacks with the same callers share them. A new part uses its caller. Parts
 * do not move, and the memory of those that are gone is used again or freed. Not thread-safe, but parts may be read while others are added.
 */
#ifndef VIEWER_STACK_PARTS_H
#define VIEWER_STACK_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "viewer/slot_pool.h"

enum {
	STACK_PART_BYTES = 16,
};

/** A caller's id plus 1, or this. */
#define STACK_PART_NO_CALLER 0

/** Parts with equal values are one part. No padding. */
struct stack_part_value {
	/** The id of the part above, plus 1; STACK_PART_NO_CALLER for the outermost. */
	uint32_t caller;
	uint8_t content[STACK_PART_BYTES];
};

struct stack_part {
	/** The id of the next part in the bucket, plus 1. */
	uint32_t next;
	uint32_t uses;
	struct stack_part_value value;
};

_Static_assert(sizeof(struct stack_part) == 28, "there may be millions");

VECTOR_DEFINE(stack_bucket_vector, uint32_t *)

struct stack_parts {
	struct slot_pool pool;
	/** A hash table with chains, which grows and shrinks by one bucket at a time (linear hashing, Litwin 1980). */
	struct stack_bucket_vector buckets;
	uint32_t bucket_count;
	size_t buckets_bytes;
};

void stack_parts_init(struct stack_parts *parts);
void stack_parts_deinit(struct stack_parts *parts);

/**
 * Adds a use of the part that is equal to @value. If it is new, *@is_new is set, and it has taken over one use of its caller. -ENOMEM,
 * -E2BIG: too many parts. Nothing has changed then.
 */
int stack_parts_add(struct stack_parts *parts, const struct stack_part_value *value, uint32_t *id,
		    bool *is_new);

/**
 * Removes a use. True if it was the last one: then the part is gone, *@value is what it was, and its use of the caller is the
 * user's to remove.
 */
bool stack_parts_remove(struct stack_parts *parts, uint32_t id, struct stack_part_value *value);

/** Allocated memory. */
static inline size_t stack_parts_bytes(const struct stack_parts *parts)
{
	return parts->pool.bytes + parts->buckets_bytes;
}

/** @id has a part. */
static inline struct stack_part *stack_part_at(struct slot_block *const *blocks, uint32_t id)
{
	return slot_at(blocks, sizeof(struct stack_part), id);
}

#endif
