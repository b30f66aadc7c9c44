/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Looks up the mapping of an address and that mapping's executable: first among the mappings that this
 * unwind has used, then by a search of the process's table.
 */
#ifndef EBPF_PROCESS_MAPPINGS_BPF_H
#define EBPF_PROCESS_MAPPINGS_BPF_H

#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/** Steps of a search among PROCESS_MAX_MAPPINGS rows. */
	MAPPING_SEARCH_STEPS = 15,
};

_Static_assert(1 << (MAPPING_SEARCH_STEPS - 1) >= PROCESS_MAX_MAPPINGS, "the search ends");

/* Finds the row number of the last mapping that starts at or below @address, plus one; 0 if none does. */
static __always_inline enum unwind_error search_mappings(struct unwind_state *state, __u64 address,
							 __u32 *row)
{
	__u32 low = 0, high = state->mapping_count;

	for (int i = 0; i < MAPPING_SEARCH_STEPS && low < high; i++) {
		__u32 middle = (low + high) / 2;
		const struct cell *cell;

		forget_range(middle, address);
		cell = cell_at(state->mapping_cell + 2 * middle);

		if (!cell)
			return UNWIND_BAD_TABLE;
		if (cell->words[0] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*row = low;
	return UNWIND_OK;
}

/* The id of frames with rows of @rows_id. A branch would have the verifier follow each frame of a chain twice. */
static __always_inline __u64 executable_id_of_rows(__u64 rows_id)
{
	__u64 copy_mask = -(rows_id >> 63);

	return (rows_id & ~copy_mask) | (EXECUTABLE_ID_ANONYMOUS & copy_mask);
}

/* Sets the fields of @mapping that come from its executable. */
static __always_inline void load_executable(struct cached_mapping *mapping)
{
	const struct cell *cell;
	__u32 header_cell;

	mapping->page_count = 0;
	mapping->error = UNWIND_ANONYMOUS;
	mapping->rows_id = mapping->executable_id;
	if (mapping->executable_id < EXECUTABLE_ID_FIRST)
		return;
	mapping->executable_id = executable_id_of_rows(mapping->rows_id);
	mapping->error = UNWIND_NOT_LOADED;
	header_cell = executable_header_cell(mapping->rows_id);
	if (!header_cell)
		return;
	mapping->error = UNWIND_BAD_TABLE;
	cell = cell_at(header_cell + 1);
	if (!cell)
		return;
	mapping->row_cell = cell->words[0];
	mapping->row_count = cell->words[0] >> 32;
	mapping->rule_cell = cell->words[1];
	mapping->rule_count = cell->words[1] >> 32;
	cell = cell_at(header_cell);
	if (!cell)
		return;
	mapping->text_start = mapping->bias + cell->words[0];
	mapping->page_count = cell->words[1];
	mapping->page_index_cell = cell->words[1] >> 32;
	mapping->error = UNWIND_NO_INFO;
}

/* Replaces the oldest cached mapping by that of @address, and makes it the last used one. */
static __always_inline enum unwind_error load_mapping(struct unwind_state *state, __u64 address)
{
	__u32 index = state->next_mapping % MAPPING_CACHE_COUNT;
	struct cached_mapping *mapping = &state->mappings[index];
	const struct cell *cell;
	enum unwind_error error;
	__u64 start, end;
	__u32 row = 0;

	error = search_mappings(state, address, &row);
	if (error)
		return error;
	if (row == 0)
		return UNWIND_NO_MAPPING;
	cell = cell_at(state->mapping_cell + 2 * row - 2);
	if (!cell)
		return UNWIND_BAD_TABLE;
	start = cell->words[0];
	end = cell->words[1];
	if (address >= end)
		return UNWIND_NO_MAPPING;
	cell = cell_at(state->mapping_cell + 2 * row - 1);
	if (!cell)
		return UNWIND_BAD_TABLE;
	mapping->start = start;
	mapping->size_bytes = end - start;
	mapping->bias = cell->words[0];
	mapping->executable_id = cell->words[1];
	load_executable(mapping);
	state->last_mapping = index;
	state->next_mapping = index + 1;
	return UNWIND_OK;
}

static __always_inline bool mapping_has(const struct cached_mapping *mapping, __u64 address)
{
	return address - mapping->start < mapping->size_bytes;
}

/** Makes state->last_mapping the mapping of @address, or returns why there is none. */
static __always_inline enum unwind_error find_mapping(struct unwind_state *state, __u64 address)
{
	__u32 last = state->last_mapping % MAPPING_CACHE_COUNT;

	if (mapping_has(&state->mappings[last], address))
		return UNWIND_OK;
	for (__u32 i = 0; i < MAPPING_CACHE_COUNT; i++) {
		if (mapping_has(&state->mappings[i], address)) {
			state->last_mapping = i;
			return UNWIND_OK;
		}
	}
	return load_mapping(state, address);
}

#endif
