/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Keeps one copy of equal items (traces, processes, strings, sets of labels) and counts its users, so
 * that equal items are the same pointer. Not thread-safe.
 */
#ifndef REPORTER_INTERNER_H
#define REPORTER_INTERNER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "reporter/free_ids.h"
#include "reporter/id_index.h"

/** Operations on the items. */
struct interner_ops {
	/** Seeded (hash64_bytes()). */
	uint64_t (*hash)(const void *item);
	bool (*equal)(const void *a, const void *b);
	/** The item's memory in bytes. */
	size_t (*bytes)(const void *item);
	/** Copies or references the item; NULL without memory. */
	void *(*keep)(const void *item);
	void (*drop)(void *item);
};

struct interner_slot {
	/** NULL: free. */
	void *item;
	uint32_t users;
	/** Used in free slots only (struct free_ids). */
	uint32_t link;
};

VECTOR_DEFINE(interner_slot_vector, struct interner_slot)

struct interner {
	const struct interner_ops *ops;
	struct interner_slot_vector slots;
	struct free_ids free;
	struct id_index index;
};

void interner_init(struct interner *interner, const struct interner_ops *ops);
void interner_deinit(struct interner *interner);

/**
 * Adds a user to the item that is equal to @item. *@interned is that item; *@cost is the memory newly
 * used, 0 if the item is known. -E2BIG if that is more than @most bytes, -ENOMEM; nothing has
 * changed then.
 */
int interner_add(struct interner *interner, const void *item, size_t most, void **interned,
		 size_t *cost);

/** The stored item that is equal to @item, without adding a user; NULL if there is none. */
void *interner_find(const struct interner *interner, const void *item);

/** The number of items. */
static inline size_t interner_count(const struct interner *interner)
{
	return interner->index.count;
}

/**
 * Removes a user of @interned, and @interned itself with its last user. Returns the memory that this frees.
 */
size_t interner_remove(struct interner *interner, const void *interned);

/** Frees the index. Nothing may be added or removed afterwards. */
void interner_freeze(struct interner *interner);

#endif
