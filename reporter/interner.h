/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Keeps one of equal items (traces, processes, texts, sets of labels) and counts its users: equal items are one pointer.
 * Not thread-safe.
 */
#ifndef REPORTER_INTERNER_H
#define REPORTER_INTERNER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "reporter/free_numbers.h"
#include "reporter/number_index.h"

/** The kind of items. */
struct interner_ops {
	/** Seeded (hash64_bytes()). */
	uint64_t (*hash)(const void *item);
	bool (*equal)(const void *a, const void *b);
	/** What it takes in memory. */
	size_t (*bytes)(const void *item);
	/** A copy of it or a reference on it; NULL without memory. */
	void *(*keep)(const void *item);
	void (*drop)(void *item);
};

struct interner_slot {
	/** NULL: free. */
	void *item;
	uint32_t users;
	/** Only free slots have it (struct free_numbers). */
	uint32_t link;
};

VECTOR_DEFINE(interner_slot_vector, struct interner_slot)

struct interner {
	const struct interner_ops *ops;
	struct interner_slot_vector slots;
	struct free_numbers free;
	struct number_index index;
};

void interner_init(struct interner *interner, const struct interner_ops *ops);
void interner_deinit(struct interner *interner);

/**
 * One more user of the item that is equal to @item: *@kept, and in *@cost the memory that it newly takes, 0 for a known
 * one. -E2BIG for more than @most bytes, -ENOMEM; then nothing has changed.
 */
int interner_add(struct interner *interner, const void *item, size_t most, void **kept,
		 size_t *cost);

/** The kept item that is equal to @item, without a user more; NULL if there is none. */
void *interner_find(const struct interner *interner, const void *item);

/** How many items there are. */
static inline size_t interner_count(const struct interner *interner)
{
	return interner->index.count;
}

/** One user less of @kept, which goes with the last one; the memory that this frees. */
size_t interner_remove(struct interner *interner, const void *kept);

/** Gives the index back: nothing is added or removed any more. */
void interner_freeze(struct interner *interner);

#endif
