/* SPDX-License-Identifier: Apache-2.0 */
/** Times of samples in ascending order; those that are, as most are, cost one pass. Allocates nothing. */
#ifndef REPORTER_SORT_TIMES_H
#define REPORTER_SORT_TIMES_H

#include <stddef.h>
#include <stdint.h>

/** @values has one for each time, and is put in the order of the times; NULL if there are none. */
void sort_times(uint64_t *times, uint64_t *values, size_t count);

#endif
