/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Looks up the rule for an address in a mapping: first in the cache, which is kept between unwinds, then
 * by the executable's page index and rows (abi/slab.h).
 */
#ifndef EBPF_RULE_LOOKUP_BPF_H
#define EBPF_RULE_LOOKUP_BPF_H

#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/** Number of rows whose offsets are compared at once, in a word. */
	ROWS_PER_WORD = sizeof(__u64),
	/** Number of halvings until one is left of the words with the rows of a page, which has 256 at most. */
	ROW_SEARCH_STEPS = UNWIND_PAGE_SHIFT - 2,
};

/*
 * Sets the highest bit of each byte of @word that is not above @limit. It has no branch, which would be
 * mispredicted half of the time.
 */
static __always_inline __u64 bytes_at_most(__u64 word, __u8 limit)
{
	const __u64 top = 0x8080808080808080ULL, limits = limit * 0x0101010101010101ULL;
	/* A top bit is set if the lower seven bits are not above the limit's. No byte borrows from another. */
	__u64 lower = (limits | top) - (word & ~top);

	return ((limits & ~word) | (~(limits ^ word) & lower)) & top;
}

/*
 * Finds the row for @offset in the text of @mapping: the last one of its page at or below the offset, else
 * the last one before the page.
 */
static __always_inline enum unwind_error find_row(const struct cached_mapping *mapping,
						  __u64 offset, __u32 *row)
{
	__u32 page = offset >> UNWIND_PAGE_SHIFT, in_page = offset & (UNWIND_PAGE_BYTES - 1);
	__u32 low, high, index = mapping->page_index_cell + (page >> 2);
	const struct cell *cell = cell_at(index);
	__u64 found;

	if (!cell)
		return UNWIND_BAD_TABLE;
	low = ((const __u32 *)cell)[page & 3];
	page++;
	if ((page & 3) == 0) {
		cell = cell_at(index + 1);
		if (!cell)
			return UNWIND_BAD_TABLE;
	}
	high = ((const __u32 *)cell)[page & 3];
	if (high > mapping->row_count || low > high)
		return UNWIND_BAD_TABLE;
	if (low < high) {
		for (int i = 0; i < ROW_SEARCH_STEPS; i++) {
			__u32 first = low / ROWS_PER_WORD, last = (high - 1) / ROWS_PER_WORD;
			__u32 middle = (first + last + 1) / 2;

			if (first == last)
				break;
			forget_range(middle, offset);
			cell = cell_at(mapping->row_cell + (middle >> 1));
			if (!cell)
				return UNWIND_BAD_TABLE;
			if ((__u8)cell->words[middle & 1] <= in_page)
				low = middle * ROWS_PER_WORD;
			else
				high = middle * ROWS_PER_WORD;
		}
		cell = cell_at(mapping->row_cell + low / CELL_BYTES);
		if (!cell)
			return UNWIND_BAD_TABLE;
		found = bytes_at_most(cell->words[low / ROWS_PER_WORD & 1], in_page);
		/* Ignore the rows before low and from high on: they are of other pages, or known to be above. */
		found &= ~0ULL << (low % ROWS_PER_WORD * 8);
		found <<= -high % ROWS_PER_WORD * 8;
		low += (found >> 7) * 0x0101010101010101ULL >> 56;
	}
	if (low == 0)
		return UNWIND_NO_INFO;
	*row = low - 1;
	return UNWIND_OK;
}

/* Looks up the rule for @offset in the text of @mapping in its tables. */
static __always_inline enum unwind_error search_rule(const struct cached_mapping *mapping,
						     __u64 offset, struct unwind_rule *rule)
{
	const struct cell *cell;
	enum unwind_error error;
	__u32 row = 0, rule_id;

	error = find_row(mapping, offset, &row);
	if (error)
		return error;
	cell = cell_at(mapping->row_cell + unwind_offset_cells(mapping->row_count) + (row >> 3));
	if (!cell)
		return UNWIND_BAD_TABLE;
	rule_id = ((const __u16 *)cell)[row & 7];
	if (rule_id >= mapping->rule_count)
		return UNWIND_BAD_TABLE;
	cell = cell_at(mapping->rule_cell + rule_id);
	if (!cell)
		return UNWIND_BAD_TABLE;
	__builtin_memcpy(rule, cell, sizeof(*cell));
	return UNWIND_OK;
}

/* Index of the cache entry for @address. Adjacent addresses have entries that are not adjacent. */
static __always_inline __u32 rule_index(__u64 executable_id, __u64 address)
{
	return (__u32)((address + executable_id) * 0x9e3779b97f4a7c15ULL >> 32) >>
	       (32 - RULE_CACHE_SHIFT);
}

/** Looks up the rule for @address, which is in @mapping, and caches it unless it is CFA_NONE. */
static __always_inline enum unwind_error find_rule(struct unwind_state *state,
						   const struct cached_mapping *mapping,
						   __u64 address, const struct unwind_rule **rule)
{
	__u64 offset = address - mapping->text_start, executable_id = mapping->rows_id;
	struct cached_rule *cached;
	enum unwind_error error;

	address -= mapping->bias;
	cached = &state->rules[rule_index(executable_id, address) % RULE_CACHE_COUNT];
	*rule = &cached->rule;
	if (offset >> UNWIND_PAGE_SHIFT >= mapping->page_count)
		return mapping->error;
	if (cached->executable_id == executable_id && cached->address == address)
		return UNWIND_OK;
	error = search_rule(mapping, offset, &cached->rule);
	if (error)
		return error;
	/* CFA_NONE is not cached: it may be replaced later, under the same id. */
	cached->executable_id = cached->rule.cfa == CFA_NONE ? 0 : executable_id;
	cached->address = address;
	return UNWIND_OK;
}

#endif
