/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stack deltas of one file in the form in which the kernel side reads them (ebpf/abi/slab.h). stackdeltas/
 * makes them, the disk cache keeps them and a map_writer copies them into the slabs.
 */
#ifndef LIB_MODEL_STACK_DELTAS_H
#define LIB_MODEL_STACK_DELTAS_H

#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/code_copy.h"
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
	/** Rows as in the slabs: whole cells of offsets, then whole cells of rule ids. */
	void *rows;
	struct unwind_rule *rules;
	/** One for each page of a copy of anonymous code; NULL for a file. */
	struct code_check *checks;
};

/** The offset of each row in its page. */
static inline uint8_t *stack_deltas_offsets(const struct stack_deltas *deltas)
{
	return deltas->rows;
}

/** The rule id of each row. */
static inline uint16_t *stack_deltas_rule_ids(const struct stack_deltas *deltas)
{
	return (uint16_t *)((uint8_t *)deltas->rows +
			    (size_t)unwind_offset_cells(deltas->row_count) * CELL_BYTES);
}

/** Bytes of an array for @row_count rows, a multiple of CELL_BYTES. */
static inline size_t stack_deltas_row_bytes(uint32_t row_count)
{
	return ((size_t)unwind_offset_cells(row_count) + unwind_rule_id_cells(row_count)) *
	       CELL_BYTES;
}

/** Frees the arrays and zeroes @deltas; takes deltas that are all zero. */
void stack_deltas_deinit(struct stack_deltas *deltas);

/**
 * The rule for ELF virtual address @address, looked up as the kernel side does; NULL outside the pages.
 * Borrowed from @deltas.
 */
const struct unwind_rule *stack_deltas_lookup(const struct stack_deltas *deltas, uint64_t address);

/** Cells that @deltas takes in the slabs, header included. */
uint32_t stack_deltas_cell_count(const struct stack_deltas *deltas);

/** 0, or -EBADMSG if a count or an index in @deltas contradicts another (a damaged cache file). */
int stack_deltas_check(const struct stack_deltas *deltas);

#endif
