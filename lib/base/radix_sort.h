/* SPDX-License-Identifier: Apache-2.0 */
/** Sorts many records by a number of 32 bits, in a time that is linear, also for hostile input. */
#ifndef LIB_BASE_RADIX_SORT_H
#define LIB_BASE_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

/**
 * Sorts @count @keys by their upper half. Keys with equal upper halves stay in order, so that the lower half can be the
 * index of a record. -ENOMEM.
 */
int radix_sort_upper_half(uint64_t *keys, size_t count);

#endif
