/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Collects rows that say which value applies from an address on. Rows form runs; each run is a part
 * of the text without gaps, and runs come in any order. Rows are packed at once into about three
 * bytes, so that all rows of a debug file of a gigabyte can be kept in memory.
 */
#ifndef SYMBOLS_CACHE_ADDRESS_RUNS_H
#define SYMBOLS_CACHE_ADDRESS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/cache/varint.h"

/** Zeros: nothing is known from this address on. */
struct address_value {
	uint32_t first;
	uint32_t second;
};

struct address_row {
	uint64_t address;
	struct address_value value;
};

/** A run; its packed rows begin at @offset. */
struct address_run {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t row_count;
};

struct address_runs {
	/** Both are allocated by big_bytes.h, because each function may be a run. */
	struct byte_vector runs;
	struct byte_vector bytes;
	/** The current run, if is_open. */
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
 * Adds a row: its value applies until the next row. A zero value ends the run. -EINVAL if addresses
 * descend within a run. -ENOMEM.
 */
int address_runs_add(struct address_runs *runs, struct address_row row);

/** An iteration over the rows of all runs. */
struct address_rows {
	struct address_runs *runs;
	uint64_t end_address;
	/** Addresses below this are done. */
	uint64_t covered;
	/** The next run. If is_inside, the run before it still has rows. */
	size_t run;
	bool is_inside;
	uint64_t run_end;
	uint32_t rows_left;
	size_t offset;
	struct address_row read;
	/**
	 * Held back until a row with another address is read, since the last of several rows at one
	 * address counts.
	 */
	struct address_row waiting;
	bool is_waiting;
	struct address_value given;
};

/**
 * Starts an iteration: sorts the runs; no row may be added afterwards. Where runs overlap, the one
 * that begins first takes precedence. Addresses below @first_address, or at or above @end_address,
 * are skipped.
 */
void address_rows_init(struct address_rows *rows, struct address_runs *runs, uint64_t first_address,
		       uint64_t end_address);

/**
 * Reads the next row: addresses ascend, and each value differs from the previous one. False at the
 * end.
 */
bool address_rows_next(struct address_rows *rows, struct address_row *row);

#endif
