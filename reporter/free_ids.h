/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A list of the ids of free items. Its links are stored in the free items themselves, so
 * freeing an id needs no memory. All bytes zero is an empty list. Not thread-safe.
 */
#ifndef REPORTER_FREE_IDS_H
#define REPORTER_FREE_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct free_ids {
	/** The id that was freed last, plus 1; 0: none. */
	uint32_t first;
};

static inline bool free_ids_are_empty(const struct free_ids *ids)
{
	return !ids->first;
}

/** The id that is taken next. The list must not be empty. */
static inline uint32_t free_ids_next(const struct free_ids *ids)
{
	return ids->first - 1;
}

/** Takes free_ids_next(). @link is the link of that item. */
static inline void free_ids_take(struct free_ids *ids, uint32_t link)
{
	ids->first = link;
}

/** Frees @id, below UINT32_MAX; returns the link for its item. */
static inline uint32_t free_ids_add(struct free_ids *ids, uint32_t id)
{
	uint32_t link = ids->first;

	ids->first = id + 1;
	return link;
}

#endif
