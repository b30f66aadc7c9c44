/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A list of the numbers of free items. Its links are stored in the free items themselves, so
 * freeing a number needs no memory. All bytes zero is an empty list. Not thread-safe.
 */
#ifndef REPORTER_FREE_NUMBERS_H
#define REPORTER_FREE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct free_numbers {
	/** The number that was freed last, plus 1; 0: none. */
	uint32_t first;
};

static inline bool free_numbers_are_empty(const struct free_numbers *numbers)
{
	return !numbers->first;
}

/** The number that is taken next. The list must not be empty. */
static inline uint32_t free_numbers_next(const struct free_numbers *numbers)
{
	return numbers->first - 1;
}

/** Takes free_numbers_next(). @link is the link of that item. */
static inline void free_numbers_take(struct free_numbers *numbers, uint32_t link)
{
	numbers->first = link;
}

/** Frees @number, below UINT32_MAX; returns the link for its item. */
static inline uint32_t free_numbers_add(struct free_numbers *numbers, uint32_t number)
{
	uint32_t link = numbers->first;

	numbers->first = number + 1;
	return link;
}

#endif
