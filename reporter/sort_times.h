/* SPDX-License-Identifier: Apache-2.0 */
/** Times of samples in ascending order; those that are, as most are, cost one pass. */
#ifndef REPORTER_SORT_TIMES_H
#define REPORTER_SORT_TIMES_H

#include <stddef.h>
#include <stdint.h>

void sort_times(uint64_t *times, size_t count);

#endif
