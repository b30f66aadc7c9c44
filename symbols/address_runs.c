/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a run is the address less that of the row before as ULEB128, and of each number the
 * difference as SLEB128.
 */
#include "symbols/address_runs.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/byte_reader.h"
#include "agent/base/error.h"
#include "symbols/big_bytes.h"

enum {
	ROW_MAX_BYTES = 3 * VARINT_MAX_BYTES,
};

void address_runs_deinit(struct address_runs *runs)
{
	address_run_vector_deinit(&runs->runs);
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
	if (address_run_vector_push(&runs->runs, runs->open))
		return fail(-ENOMEM, "no memory for runs of addresses");
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

/* Rows of which each waits until the next has another address, since then the last one of several counts. */
struct row_queue {
	struct address_table_bytes *table;
	struct address_row waiting;
	struct address_value written;
	bool is_waiting;
};

static int flush_row(struct row_queue *queue)
{
	if (!queue->is_waiting || is_equal(queue->waiting.value, queue->written))
		return 0;
	queue->written = queue->waiting.value;
	return address_table_bytes_add(queue->table, queue->waiting);
}

static int put_row(struct row_queue *queue, struct address_row row)
{
	if (queue->is_waiting && queue->waiting.address != row.address) {
		int err = flush_row(queue);

		if (err)
			return err;
	}
	queue->waiting = row;
	queue->is_waiting = true;
	return 0;
}

/* The rows of @run from address @covered on, up to @end. */
static int put_run(struct row_queue *queue, const struct address_runs *runs,
		   const struct address_run *run, uint64_t covered, uint64_t end)
{
	struct address_row row = { .address = run->start };
	struct byte_reader reader;

	byte_reader_init(&reader, runs->bytes.items + run->offset, runs->bytes.count - run->offset);
	for (uint32_t i = 0; i < run->row_count; i++) {
		struct address_row shown;
		int err;

		row.address += byte_reader_uleb128(&reader);
		row.value.first += byte_reader_sleb128(&reader);
		row.value.second += byte_reader_sleb128(&reader);
		if (row.address >= end)
			break;
		shown = row;
		if (shown.address < covered)
			shown.address = covered;
		err = put_row(queue, shown);
		if (err)
			return err;
	}
	return put_row(queue, (struct address_row){ .address = end });
}

static int put_runs(struct address_runs *runs, uint64_t covered, uint64_t end_address,
		    struct row_queue *queue)
{
	int err = 0;

	if (runs->runs.count)
		qsort(runs->runs.items, runs->runs.count, sizeof(runs->runs.items[0]),
		      compare_runs);
	for (size_t i = 0; i < runs->runs.count && !err; i++) {
		const struct address_run *run = &runs->runs.items[i];

		uint64_t end = run->end < end_address ? run->end : end_address;

		if (end <= covered || run->start >= end)
			continue;
		err = put_run(queue, runs, run, covered, end);
		covered = end;
	}
	if (!err)
		err = flush_row(queue);
	return err ? err : address_table_bytes_finish(queue->table);
}

int address_runs_finish(struct address_runs *runs, uint64_t first_address, uint64_t end_address,
			struct address_table_bytes *table)
{
	struct address_table_bytes result = { 0 };
	struct row_queue queue = { .table = &result };
	int err;

	if (runs->is_open)
		(void)close_run(runs, runs->last.address);
	err = put_runs(runs, first_address, end_address, &queue);
	address_runs_deinit(runs);
	if (err) {
		address_table_bytes_deinit(&result);
		return err;
	}
	*table = result;
	return 0;
}
