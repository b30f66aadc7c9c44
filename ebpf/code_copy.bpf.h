/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Compares anonymous code with user space's copy of it, whose rows are used only if both are equal (abi/code_copy.h). Code that
 * cannot be read counts as different. A page is compared in steps of the unwind, each of which reads one page of memory. The
 * result is cached for the unwind, which other frames of the page need too.
 *
 * Only unwinders with bpf_loop() use copies: the verifier follows each frame of a chain separately.
 */
#ifndef EBPF_CODE_COPY_BPF_H
#define EBPF_CODE_COPY_BPF_H

#include "ebpf/cached_mapping.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	CODE_PAGE_WORDS = UNWIND_PAGE_BYTES / 8,
};

/** Result for a page, in the lowest bits of unwind_state.compared_pages, which are 0 in its address. */
enum compared_code {
	CODE_DIFFERS = 1,
	CODE_IS_EQUAL = 2,
};

static __always_inline __u64 code_page_of(__u64 address)
{
	return address & ~(UNWIND_PAGE_BYTES - 1ULL);
}

/* The element of unwind_state.compared_pages for a page. */
static __always_inline __u32 compared_index(__u64 page)
{
	return (page >> UNWIND_PAGE_SHIFT) % COMPARED_PAGE_COUNT;
}

/** True if the code at @address was compared in this unwind, and equals the copy. */
static __always_inline bool is_code_as_copied(const struct unwind_state *state, __u64 address)
{
	__u64 page = code_page_of(address);

	return state->compared_pages[compared_index(page)] == (page | CODE_IS_EQUAL);
}

/** If @mapping has a copy of the code at @address that was not compared yet: begins that and returns true. */
static __always_inline bool compare_code_begin(struct unwind_state *state,
					       const struct cached_mapping *mapping, __u64 address)
{
	__u64 page = code_page_of(address);
	__u32 number = (address - mapping->text_start) >> UNWIND_PAGE_SHIFT;
	const struct cell *cell;

	if ((address - mapping->text_start) >> UNWIND_PAGE_SHIFT >= mapping->page_count ||
	    code_page_of(state->compared_pages[compared_index(page)]) == page)
		return false;
	cell = cell_at(mapping->page_index_cell + unwind_index_cells(mapping->page_count) +
		       number / 2);
	if (!cell)
		return false;
	__builtin_memcpy(&state->compare_check, &cell->words[number & 1],
			 sizeof(state->compare_check));
	state->compare_page = page;
	state->compare_sum = 0;
	state->compare_pages_left = code_check_page_count(&state->compare_check);
	return true;
}

static __always_inline void compare_code_end(struct unwind_state *state, bool is_equal)
{
	__u64 page = state->compare_page;

	state->compare_pages_left = 0;
	state->compared_pages[compared_index(page)] = page |
						      (is_equal ? CODE_IS_EQUAL : CODE_DIFFERS);
	if (!is_equal)
		state->record.flags |= RECORD_CODE_CHANGED;
}

/** Reads one more page of the comparison, while state->compare_pages_left is set. */
static __always_inline void compare_code_step(struct unwind_state *state)
{
	const struct code_check *check = &state->compare_check;
	__u32 index = code_check_page_count(check) - state->compare_pages_left;
	__u64 address =
		state->compare_page - (__u64)code_check_distance(check, index) * UNWIND_PAGE_BYTES;
	__u64 words[CODE_PAGE_WORDS], sum = state->compare_sum;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)address)) {
		compare_code_end(state, false);
		return;
	}
	for (int i = 0; i < CODE_PAGE_WORDS; i++)
		sum = fingerprint_mix(sum, words[i]);
	state->compare_sum = sum;
	if (!--state->compare_pages_left)
		compare_code_end(state, fingerprint_end(sum) == check->fingerprint);
}

#endif
