/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sweep in the order of addresses, with a stack of the open intervals, the highest order on
 * top. Intervals below the top that have ended are removed when they come to the top.
 */
#include "symbols/cache/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/error.h"
#include "symbols/cache/address_runs.h"

enum {
	/* Limit of nested intervals; of deeper inlining the innermost ones are lost. */
	OPEN_MAX = 1024,
};

struct sweep {
	const struct interval *open[OPEN_MAX];
	uint32_t open_count;
	struct address_runs *runs;
};

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int put(struct sweep *sweep, uint64_t address)
{
	uint32_t value = sweep->open_count ? sweep->open[sweep->open_count - 1]->value : 0;

	return address_runs_add(sweep->runs,
				(struct address_row){ .address = address, .value.first = value });
}

/* Closes intervals that end at or before @address. */
static int close_up_to(struct sweep *sweep, uint64_t address)
{
	while (sweep->open_count && sweep->open[sweep->open_count - 1]->end <= address) {
		uint64_t end = sweep->open[sweep->open_count - 1]->end;
		int err;

		/* Also removes those that ended while the top was open. */
		while (sweep->open_count && sweep->open[sweep->open_count - 1]->end <= end)
			sweep->open_count--;
		/* An interval that begins at @address is added later, in the same run. */
		err = end < address ? put(sweep, end) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int open_interval(struct sweep *sweep, const struct interval *interval)
{
	uint32_t i = sweep->open_count;

	if (i == OPEN_MAX)
		return 0;
	for (; i && sweep->open[i - 1]->order > interval->order; i--)
		sweep->open[i] = sweep->open[i - 1];
	sweep->open[i] = interval;
	sweep->open_count++;
	return put(sweep, interval->start);
}

int intervals_flatten(struct interval_vector *intervals, struct address_runs *runs)
{
	struct sweep sweep = { .runs = runs };
	int err = 0;

	if (!intervals->count)
		return 0;
	qsort(intervals->items, intervals->count, sizeof(intervals->items[0]), compare_intervals);
	for (size_t i = 0; i < intervals->count && !err; i++) {
		const struct interval *interval = &intervals->items[i];

		if (interval->start >= interval->end)
			continue;
		err = close_up_to(&sweep, interval->start);
		if (!err)
			err = open_interval(&sweep, interval);
	}
	return err ? err : close_up_to(&sweep, UINT64_MAX);
}
