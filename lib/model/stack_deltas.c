/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup in stack deltas as the kernel side does it, and the check that makes it safe for tables
 * that come from a file.
 */
#include "lib/model/stack_deltas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

void stack_deltas_deinit(struct stack_deltas *deltas)
{
	if (!deltas)
		return;
	free(deltas->page_index);
	free(deltas->rows);
	free(deltas->rules);
	free(deltas->checks);
	memset(deltas, 0, sizeof(*deltas));
}

const struct unwind_rule *stack_deltas_lookup(const struct stack_deltas *deltas, uint64_t address)
{
	uint64_t distance = address - deltas->text_start;
	uint64_t page = distance >> UNWIND_PAGE_SHIFT;
	uint32_t offset = distance & (UNWIND_PAGE_BYTES - 1);
	const uint8_t *offsets = stack_deltas_offsets(deltas);
	uint32_t low, high;

	if (address < deltas->text_start || page >= deltas->page_count)
		return NULL;
	low = deltas->page_index[page];
	high = deltas->page_index[page + 1];
	/* Finds the first row of the page above the address. The wanted row is just before it. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (offsets[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return &deltas->rules[stack_deltas_rule_ids(deltas)[low - 1]];
}

uint32_t stack_deltas_cell_count(const struct stack_deltas *deltas)
{
	return sizeof(struct unwind_header) / CELL_BYTES + unwind_index_cells(deltas->page_count) +
	       (deltas->checks ? code_check_cells(deltas->page_count) : 0) +
	       unwind_offset_cells(deltas->row_count) + unwind_rule_id_cells(deltas->row_count) +
	       deltas->rule_count;
}

static int check_page(const struct stack_deltas *deltas, uint32_t page)
{
	uint32_t first = deltas->page_index[page];
	uint32_t end = deltas->page_index[page + 1];
	const uint16_t *rule_ids = stack_deltas_rule_ids(deltas);
	const uint8_t *offsets = stack_deltas_offsets(deltas);

	if (first > end || end > deltas->row_count)
		return fail(-EBADMSG, "stack deltas: page %u ends at row %u", page, end);
	for (uint32_t i = first; i < end; i++) {
		if (rule_ids[i] >= deltas->rule_count)
			return fail(-EBADMSG, "stack deltas: row %u has no rule", i);
		if (i > first && offsets[i] <= offsets[i - 1])
			return fail(-EBADMSG, "stack deltas: row %u is out of order", i);
	}
	return 0;
}

int stack_deltas_check(const struct stack_deltas *deltas)
{
	if (!deltas->page_count || deltas->page_count > UNWIND_MAX_PAGES || !deltas->row_count ||
	    !deltas->rule_count || deltas->rule_count > UNWIND_MAX_RULES)
		return fail(-EBADMSG, "stack deltas: %u pages, %u rows, %u rules",
			    deltas->page_count, deltas->row_count, deltas->rule_count);
	if (deltas->text_start % UNWIND_PAGE_BYTES ||
	    deltas->text_start + (uint64_t)deltas->page_count * UNWIND_PAGE_BYTES <
		    deltas->text_start)
		return fail(-EBADMSG, "stack deltas: text at %#llx",
			    (unsigned long long)deltas->text_start);
	/* The row at the very start is what lookups before the first row of a page rely on. */
	if (deltas->page_index[0] != 0 || deltas->page_index[1] == 0 ||
	    stack_deltas_offsets(deltas)[0] != 0)
		return fail(-EBADMSG, "stack deltas: no row at the start of the text");
	for (uint32_t page = 0; page < deltas->page_count; page++) {
		int error = check_page(deltas, page);

		if (error)
			return error;
	}
	if (deltas->page_index[deltas->page_count] != deltas->row_count)
		return fail(-EBADMSG, "stack deltas: %u rows behind the last page",
			    deltas->row_count - deltas->page_index[deltas->page_count]);
	for (uint32_t i = 0; i < deltas->rule_count; i++) {
		const struct unwind_rule *rule = &deltas->rules[i];

		if (rule->cfa >= CFA_KIND_COUNT || rule->ra >= SAVED_KIND_COUNT ||
		    rule->fp >= SAVED_KIND_COUNT)
			return fail(-EBADMSG, "stack deltas: rule %u is of no known kind", i);
	}
	for (uint32_t page = 0; deltas->checks && page < deltas->page_count; page++) {
		const struct code_check *check = &deltas->checks[page];

		if (check->pages_before > page || check->pages_after >= deltas->page_count - page ||
		    code_check_page_count(check) > CODE_CHECK_PAGES)
			return fail(-EBADMSG,
				    "stack deltas: page %u depends on code that was not copied",
				    page);
	}
	return 0;
}
