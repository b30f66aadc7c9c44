/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a run is the address minus that of the previous row as ULEB128, and the difference of
 * each number as SLEB128.
 */
#include "symbols/cache/address_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"
#include "symbols/cache/big_bytes.h"

enum {
	ROW_MAX_BYTES = 3 * VARINT_MAX_BYTES,
};

void address_runs_deinit(struct address_runs *runs)
{
	big_bytes_deinit(&runs->runs);
	big_bytes_deinit(&runs->bytes);
}

static bool is_nothing(struct address_value value)
{
	return !value.first && !value.second;
}

static bool is_equal(struct address_value a, struct address_value b)
{
	return a.first == b.first && a.second == b.second;
}

static int close_run(struct address_runs *runs, uint64_t end)
{
	runs->is_open = false;
	runs->open.end = end;
	if (end == runs->open.start) {
		runs->bytes.count = runs->open.offset;
		return 0;
	}
	if (big_bytes_reserve(&runs->runs, runs->runs.count + sizeof(runs->open)))
		return fail(-ENOMEM, "no memory for runs of addresses");
	memcpy(runs->runs.items + runs->runs.count, &runs->open, sizeof(runs->open));
	runs->runs.count += sizeof(runs->open);
	return 0;
}

int address_runs_add(struct address_runs *runs, struct address_row row)
{
	if (runs->is_open && row.address < runs->last.address)
		return fail(-EINVAL, "addresses fall within a run");
	if (is_nothing(row.value))
		return runs->is_open ? close_run(runs, row.address) : 0;
	if (runs->is_open && is_equal(row.value, runs->last.value))
		return 0;
	if (!runs->is_open) {
		runs->is_open = true;
		runs->open =
			(struct address_run){ .start = row.address, .offset = runs->bytes.count };
		runs->last = (struct address_row){ .address = row.address };
	}
	if (big_bytes_reserve(&runs->bytes, runs->bytes.count + ROW_MAX_BYTES))
		return fail(-ENOMEM, "no memory for runs of addresses");
	put_uleb128(&runs->bytes, row.address - runs->last.address);
	put_sleb128(&runs->bytes, (int64_t)row.value.first - runs->last.value.first);
	put_sleb128(&runs->bytes, (int64_t)row.value.second - runs->last.value.second);
	runs->last = row;
	runs->open.row_count++;
	return 0;
}

static int compare_runs(const void *left, const void *right)
{
	const struct address_run *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static struct address_run *all_runs(const struct address_runs *runs)
{
	return (struct address_run *)runs->runs.items;
}

/* Moves the run at @i down the heap to its position. */
static void sift(struct address_run *runs, size_t i, size_t count)
{
	struct address_run run = runs[i];

	for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
		if (child + 1 < count && compare_runs(&runs[child], &runs[child + 1]) < 0)
			child++;
		if (compare_runs(&run, &runs[child]) >= 0)
			break;
		runs[i] = runs[child];
		i = child;
	}
	runs[i] = run;
}

/* Sorts in place: qsort() would need as much memory again. */
static void heap_sort(struct address_run *runs, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(runs, i, count);
	for (size_t left = count; left-- > 1;) {
		struct address_run last = runs[left];

		runs[left] = runs[0];
		runs[0] = last;
		sift(runs, 0, left);
	}
}

static void sort_runs(struct address_runs *runs)
{
	struct address_run *all = all_runs(runs);
	size_t count = address_runs_count(runs), i = 1;

	while (i < count && compare_runs(&all[i - 1], &all[i]) < 0)
		i++;
	if (i >= count)
		return;
	if (runs->runs.count > BIG_BYTES_IN_HEAP_MAX)
		heap_sort(all, count);
	else
		qsort(all, count, sizeof(all[0]), compare_runs);
}

void address_rows_init(struct address_rows *rows, struct address_runs *runs, uint64_t first_address,
		       uint64_t end_address)
{
	if (runs->is_open)
		(void)close_run(runs, runs->last.address);
	sort_runs(runs);
	*rows = (struct address_rows){
		.runs = runs,
		.end_address = end_address,
		.covered = first_address,
	};
}

/* Enters the next run with rows that are not covered yet. False at the end. */
static bool enter_run(struct address_rows *rows)
{
	size_t count = address_runs_count(rows->runs);

	for (; rows->run < count; rows->run++) {
		const struct address_run *run = &all_runs(rows->runs)[rows->run];
		uint64_t end = run->end < rows->end_address ? run->end : rows->end_address;

		if (end <= rows->covered || run->start >= end)
			continue;
		rows->run++;
		rows->is_inside = true;
		rows->run_end = end;
		rows->rows_left = run->row_count;
		rows->offset = run->offset;
		rows->read = (struct address_row){ .address = run->start };
		return true;
	}
	return false;
}

static void read_row(struct address_rows *rows)
{
	const struct byte_vector *bytes = &rows->runs->bytes;
	struct byte_reader reader;

	byte_reader_init(&reader, bytes->items + rows->offset, bytes->count - rows->offset);
	rows->read.address += byte_reader_uleb128(&reader);
	rows->read.value.first += byte_reader_sleb128(&reader);
	rows->read.value.second += byte_reader_sleb128(&reader);
	rows->offset += byte_reader_offset(&reader);
	rows->rows_left--;
}

/*
 * Reads the rows of the runs in order, each from where the previous run has ended. After a run no
 * value applies.
 */
static bool next_of_run(struct address_rows *rows, struct address_row *row)
{
	if (!rows->is_inside && !enter_run(rows))
		return false;
	if (rows->rows_left)
		read_row(rows);
	else
		rows->read.address = rows->run_end;
	if (rows->read.address >= rows->run_end) {
		rows->is_inside = false;
		rows->covered = rows->run_end;
		*row = (struct address_row){ .address = rows->run_end };
		return true;
	}
	*row = rows->read;
	if (row->address < rows->covered)
		row->address = rows->covered;
	return true;
}

bool address_rows_next(struct address_rows *rows, struct address_row *row)
{
	struct address_row next, done;

	while (next_of_run(rows, &next)) {
		bool is_done = rows->is_waiting && rows->waiting.address != next.address &&
			       !is_equal(rows->waiting.value, rows->given);

		done = rows->waiting;
		rows->waiting = next;
		rows->is_waiting = true;
		if (is_done) {
			rows->given = done.value;
			*row = done;
			return true;
		}
	}
	if (!rows->is_waiting || is_equal(rows->waiting.value, rows->given))
		return false;
	rows->is_waiting = false;
	*row = rows->waiting;
	return true;
}
