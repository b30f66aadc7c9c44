/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What holds from which address on, as it is collected: runs of rows, each of a part of the text
 * without gaps, in any order. Rows are packed at once into about three bytes, so that
 * those of a debug file of a gigabyte can stay in memory until all are known.
 */
#ifndef SYMBOLS_ADDRESS_RUNS_H
#define SYMBOLS_ADDRESS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/address_table.h"
#include "symbols/varint.h"

/** A run: its rows, packed, stand at @offset. */
struct address_run {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t row_count;
};

VECTOR_DEFINE(address_run_vector, struct address_run)

struct address_runs {
	struct address_run_vector runs;
	/** By big_bytes.h. */
	struct byte_vector bytes;
	/** The run that is being added to, if is_open. */
	struct address_run open;
	struct address_row last;
	bool is_open;
};

void address_runs_deinit(struct address_runs *runs);

/**
 * From @row's address on its value holds, up to that of the next row; a value of zeroes ends the
 * run. Within a run addresses do not fall: -EINVAL. -ENOMEM.
 */
int address_runs_add(struct address_runs *runs, struct address_row row);

/**
 * Packs the rows of all runs, which are sorted by it, into a table. Where runs overlap, the one that
 * begins first goes before the others. What lies below @first_address, or at @end_address and above, is
 * left out. -E2BIG if there is too much for a table, -ENOMEM. @runs holds nothing afterwards.
 */
int address_runs_finish(struct address_runs *runs, uint64_t first_address, uint64_t end_address,
			struct address_table_bytes *table);

#endif
