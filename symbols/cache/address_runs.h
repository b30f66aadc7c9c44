/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What holds from which address on, as it is collected: runs of rows, each of a part of the text
 * without gaps, in any order. Rows are packed at once into about three bytes, so that
 * those of a debug file of a gigabyte can be kept until all are known.
 */
#ifndef SYMBOLS_CACHE_ADDRESS_RUNS_H
#define SYMBOLS_CACHE_ADDRESS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/cache/varint.h"

/** Zeroes: nothing is known from here on. */
struct address_value {
	uint32_t first;
	uint32_t second;
};

struct address_row {
	uint64_t address;
	struct address_value value;
};

/** A run: its rows, packed, stand at @offset. */
struct address_run {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t row_count;
};

struct address_runs {
	/** Both by big_bytes.h: each function may be a run. */
	struct byte_vector runs;
	struct byte_vector bytes;
	/** The run that is being added to, if is_open. */
	struct address_run open;
	struct address_row last;
	bool is_open;
};

void address_runs_deinit(struct address_runs *runs);

static inline size_t address_runs_count(const struct address_runs *runs)
{
	return runs->runs.count / sizeof(struct address_run);
}

/**
 * From @row's address on its value holds, up to that of the next row; a value of zeroes ends the
 * run. Within a run addresses do not fall: -EINVAL. -ENOMEM.
 */
int address_runs_add(struct address_runs *runs, struct address_row row);

/** A pass over the rows of all runs. */
struct address_rows {
	struct address_runs *runs;
	uint64_t end_address;
	/** What lies below is done with. */
	uint64_t covered;
	/** The run that comes next; and the one before it, if is_inside, of which rows are left. */
	size_t run;
	bool is_inside;
	uint64_t run_end;
	uint32_t rows_left;
	size_t offset;
	struct address_row read;
	/** Waits until the next has another address, since then the last one of several counts. */
	struct address_row waiting;
	bool is_waiting;
	struct address_value given;
};

/**
 * Begins a pass, for which the runs are sorted; nothing is added from now on. Where runs overlap, the one that begins
 * first goes before the others. What lies below @first_address, or at @end_address and above, is left out.
 */
void address_rows_init(struct address_rows *rows, struct address_runs *runs, uint64_t first_address,
		       uint64_t end_address);

/** The next row: addresses rise, and what holds differs from what held before. False at the end. */
bool address_rows_next(struct address_rows *rows, struct address_row *row);

#endif
