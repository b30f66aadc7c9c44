/* SPDX-License-Identifier: Apache-2.0 */
/** Sorts the times of samples. Sorted input, the usual case, costs one pass. Allocates nothing. */
#ifndef REPORTER_SORT_TIMES_H
#define REPORTER_SORT_TIMES_H

#include <stddef.h>
#include <stdint.h>

/** @values has one value per time and is put in the order of the times; NULL if there are none. */
void sort_times(uint64_t *times, uint64_t *values, size_t count);

#endif
