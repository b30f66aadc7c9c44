/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Compares anonymous code with user space's copy of it, whose rows are used only if both are equal (abi/code_copy.h). Code that
 * cannot be read counts as different. The code is compared in steps of the unwind, each of which reads one page of memory. The
 * result is cached for the unwind, which other frames of the same functions need too.
 *
 * Only unwinders with bpf_loop() use copies: the verifier follows each frame of a chain separately.
 */
#ifndef EBPF_CODE_COPY_BPF_H
#define EBPF_CODE_COPY_BPF_H

#include "ebpf/cached_mapping.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/** Number of bytes that are read at once: the stack of the BPF programs is small. */
	COMPARED_BYTES = 64,
	COMPARED_WORDS = COMPARED_BYTES / 8,
};

_Static_assert(CODE_CHECK_PAGES < 1 << UNWIND_PAGE_SHIFT,
	       "the number of pages fits below the address of a page");

/* The element of unwind_state.compared for a key. */
static __always_inline __u32 compared_index(__u64 key)
{
	return (key * 0x9e3779b97f4a7c15ULL >> 32) % COMPARED_COUNT;
}

/* Sets *@check to that of the page of @address, in @mapping; false if it has no rows of a copy. */
static __always_inline bool find_code_check(const struct cached_mapping *mapping, __u64 address,
					    struct code_check *check)
{
	__u64 number = (address - mapping->text_start) >> UNWIND_PAGE_SHIFT;
	const struct cell *cell;

	if (number >= mapping->page_count)
		return false;
	cell = cell_at(mapping->page_index_cell + unwind_index_cells(mapping->page_count) +
		       (__u32)number / 2);
	if (!cell)
		return false;
	__builtin_memcpy(check, &cell->words[number & 1], sizeof(*check));
	return check->fingerprint && code_check_page_count(check) <= CODE_CHECK_PAGES;
}

/**
 * Sets state->code_is_as_copied for the code at @address, in @mapping. If it has to be compared first, begins that and returns
 * true. More than COMPARED_PAGES_MAX pages are not read in an unwind.
 */
static __always_inline bool compare_code_begin(struct unwind_state *state,
					       const struct cached_mapping *mapping, __u64 address)
{
	struct code_check check;
	const struct compared_code *known;
	__u64 first, key;
	__u32 count;

	state->code_is_as_copied = 0;
	if (!find_code_check(mapping, address, &check))
		return false;
	count = code_check_page_count(&check);
	first = (address & ~(UNWIND_PAGE_BYTES - 1ULL)) -
		(__u64)check.pages_before * UNWIND_PAGE_BYTES;
	key = first | count;
	known = &state->compared[compared_index(key)];
	/* Neighbouring copies may have the same code at their border, and be of different times. */
	if (known->key == key && known->fingerprint == check.fingerprint) {
		state->code_is_as_copied = known->is_equal;
		return false;
	}
	if (count > state->compare_budget)
		return false;
	state->compare_budget -= count;
	state->compare_pages_left = count;
	state->compare_fingerprint = check.fingerprint;
	state->compare_address = first;
	state->compare_key = key;
	state->compare_sum = 0;
	return true;
}

static __always_inline void compare_code_end(struct unwind_state *state, bool is_equal)
{
	struct compared_code *known = &state->compared[compared_index(state->compare_key)];

	state->compare_pages_left = 0;
	known->key = state->compare_key;
	known->fingerprint = state->compare_fingerprint;
	known->is_equal = is_equal;
}

/** Reads one more page of the comparison, while state->compare_pages_left is set. */
static __always_inline void compare_code_step(struct unwind_state *state)
{
	__u64 words[COMPARED_WORDS], address = state->compare_address, sum = state->compare_sum;

	for (int part = 0; part < UNWIND_PAGE_BYTES / COMPARED_BYTES; part++) {
		/* It may have been unmapped, or be on its way from a disk: another copy would be of no use now. */
		if (bpf_probe_read_user(words, sizeof(words), (const void *)address)) {
			compare_code_end(state, false);
			return;
		}
		for (int i = 0; i < COMPARED_WORDS; i++)
			sum = fingerprint_mix(sum, words[i]);
		address += COMPARED_BYTES;
	}
	state->compare_address = address;
	state->compare_sum = sum;
	if (--state->compare_pages_left)
		return;
	if (fingerprint_end(sum) == state->compare_fingerprint) {
		compare_code_end(state, true);
		return;
	}
	compare_code_end(state, false);
	state->record.flags |= RECORD_CODE_CHANGED;
}

#endif
