/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Intervals of addresses, some within others, as functions and what is inlined into them lie: which one
 * counts at which address.
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
	/** Of several at one address the highest counts: inner ones have more than outer ones. */
	uint32_t order;
};

VECTOR_DEFINE(interval_vector, struct interval)

/**
 * Adds the value that counts at each address to @runs, as the first number. Sorts @intervals. Empty
 * ones and those that end before they begin are left out. -ENOMEM.
 */
int intervals_flatten(struct interval_vector *intervals, struct address_runs *runs);

#endif
