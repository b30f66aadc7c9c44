/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stack deltas of one file in the very form in which the kernel side reads them (ebpf/abi/slab.h):
 * what stackdeltas/ makes, the disk cache keeps and a map_writer copies into the slabs.
 */
#ifndef AGENT_BASE_STACK_DELTAS_H
#define AGENT_BASE_STACK_DELTAS_H

#include <stdint.h>

#include "ebpf/abi/slab.h"

/** Read-only once built. All arrays are owned; stack_deltas_deinit() frees them. */
struct stack_deltas {
	/** ELF virtual address of the first page, a multiple of UNWIND_PAGE_BYTES. */
	uint64_t text_start;
	uint32_t page_count;
	uint32_t row_count;
	uint32_t rule_count;
	/** page_count + 1 entries, ascending, the last is row_count. */
	uint32_t *page_index;
	/** row_count entries, (offset in page) | rule number << UNWIND_ROW_RULE_SHIFT. */
	uint32_t *rows;
	struct unwind_rule *rules;
};

/** Frees the arrays and zeroes @deltas; takes one that is zero already. */
void stack_deltas_deinit(struct stack_deltas *deltas);

/**
 * The rule for ELF virtual address @address, found just as the kernel side does; NULL outside the
 * pages. Borrowed from @deltas.
 */
const struct unwind_rule *stack_deltas_lookup(const struct stack_deltas *deltas, uint64_t address);

/** Cells that @deltas takes in the slabs, header included. */
uint32_t stack_deltas_cell_count(const struct stack_deltas *deltas);

/** 0, or -EBADMSG if a count or an index in @deltas contradicts another (a damaged cache file). */
int stack_deltas_check(const struct stack_deltas *deltas);

#endif
