/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Nested intervals of addresses, such as functions and the functions inlined into them, and which
 * interval counts at each address.
 */
#ifndef SYMBOLS_CACHE_INTERVALS_H
#define SYMBOLS_CACHE_INTERVALS_H

#include <stdint.h>

#include "lib/base/vector.h"

struct address_runs;

struct interval {
	uint64_t start;
	uint64_t end;
	/** Not 0. */
	uint32_t value;
	/**
	 * If several intervals contain an address, the highest order counts: inner ones have a higher
	 * order than outer ones.
	 */
	uint32_t order;
};

VECTOR_DEFINE(interval_vector, struct interval)

/**
 * Adds the value that counts at each address to @runs, as the first number. Sorts @intervals. Empty
 * intervals, and those that end before they begin, are skipped. -ENOMEM.
 */
int intervals_flatten(struct interval_vector *intervals, struct address_runs *runs);

#endif
