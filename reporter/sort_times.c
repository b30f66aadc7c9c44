/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sort_times.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
	uint64_t time_a = *(const uint64_t *)a, time_b = *(const uint64_t *)b;

	return time_a < time_b ? -1 : time_a > time_b;
}

static bool are_sorted(const uint64_t *times, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (times[i] < times[i - 1])
			return false;
	return true;
}

static void swap(uint64_t *numbers, size_t i, size_t j)
{
	uint64_t kept = numbers[i];

	numbers[i] = numbers[j];
	numbers[j] = kept;
}

/* Moves item @at of a heap of @count, the latest time on top, below all later items. */
static void sift_down(uint64_t *times, uint64_t *values, size_t at, size_t count)
{
	size_t child;

	for (; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && times[child + 1] > times[child])
			child++;
		if (times[at] >= times[child])
			return;
		swap(times, at, child);
		swap(values, at, child);
	}
}

/* A heap sort, since qsort() moves one array only. */
static void sort_with_values(uint64_t *times, uint64_t *values, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(times, values, i, count);
	while (count-- > 1) {
		swap(times, 0, count);
		swap(values, 0, count);
		sift_down(times, values, 0, count);
	}
}

void sort_times(uint64_t *times, uint64_t *values, size_t count)
{
	if (are_sorted(times, count))
		return;
	if (values)
		sort_with_values(times, values, count);
	else
		qsort(times, count, sizeof(*times), compare_times);
}
