/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sort_times.h"

#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
	uint64_t time_a = *(const uint64_t *)a, time_b = *(const uint64_t *)b;

	return time_a < time_b ? -1 : time_a > time_b;
}

void sort_times(uint64_t *times, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (times[i] < times[i - 1]) {
			qsort(times, count, sizeof(*times), compare_times);
			return;
		}
	}
}
