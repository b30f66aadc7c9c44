/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the rows writes new arrays. The deltas were checked by their maker; the ranges come from a
 * hostile file and can be anything.
 */
#include "lib/model/flag_ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"

/* In flagged[]: there is no flagged copy of the rule yet. */
#define NO_COPY UINT32_MAX

VECTOR_DEFINE(offset_vector, uint8_t)
VECTOR_DEFINE(rule_id_vector, uint16_t)

/* The new arrays and the position of the pass. */
struct flagging {
	const struct stack_deltas *deltas;
	uint8_t flag;
	/* 0: none. */
	uint8_t language;
	struct offset_vector offsets;
	struct rule_id_vector rule_ids;
	uint32_t *page_index;
	struct unwind_rule *rules;
	uint32_t rule_count;
	/* The flagged copy of each of the old rules. */
	uint32_t *flagged;
};

static void flagging_deinit(struct flagging *flagging)
{
	offset_vector_deinit(&flagging->offsets);
	rule_id_vector_deinit(&flagging->rule_ids);
	free(flagging->page_index);
	free(flagging->rules);
	free(flagging->flagged);
}

static int flagging_init(struct flagging *flagging, const struct stack_deltas *deltas, uint8_t flag,
			 uint8_t language)
{
	*flagging = (struct flagging){ .deltas = deltas, .flag = flag, .language = language };
	flagging->page_index = calloc(deltas->page_count + 1, sizeof(*flagging->page_index));
	flagging->rules = calloc(2 * (size_t)deltas->rule_count, sizeof(*flagging->rules));
	flagging->flagged = calloc(deltas->rule_count, sizeof(*flagging->flagged));
	if (!flagging->page_index || !flagging->rules || !flagging->flagged)
		return fail(-ENOMEM, "no memory to flag the rows of a language's code");
	memcpy(flagging->rules, deltas->rules, deltas->rule_count * sizeof(*deltas->rules));
	flagging->rule_count = deltas->rule_count;
	memset(flagging->flagged, UINT8_MAX, deltas->rule_count * sizeof(*flagging->flagged));
	return 0;
}

static uint32_t flagged_copy(struct flagging *flagging, uint32_t id)
{
	uint32_t *copy = &flagging->flagged[id];
	struct unwind_rule *rule;

	if (*copy == NO_COPY) {
		*copy = flagging->rule_count++;
		rule = &flagging->rules[*copy];
		*rule = flagging->rules[id];
		rule->flags |= flagging->flag;
		if (rule->cfa == CFA_NONE && flagging->language) {
			rule->cfa = CFA_LANGUAGE;
			rule->cfa_addend = flagging->language;
		}
	}
	return *copy;
}

static int add_row(struct flagging *flagging, uint8_t offset, uint32_t id, bool is_flagged)
{
	/* Ids that do not fit into 16 bits are refused at the end. */
	if (is_flagged)
		id = flagged_copy(flagging, id);
	return offset_vector_push(&flagging->offsets, offset) ||
			       rule_id_vector_push(&flagging->rule_ids, id) ?
		       fail(-ENOMEM, "no memory to flag the rows of a language's code") :
		       0;
}

/* The first border of @ranges above @address; UINT64_MAX if there is none. */
static uint64_t next_border(const struct code_range *ranges, uint32_t count, uint32_t *first,
			    uint64_t address, bool *is_inside)
{
	while (*first < count && ranges[*first].end <= address)
		(*first)++;
	*is_inside = *first < count && ranges[*first].start <= address;
	if (*first == count)
		return UINT64_MAX;
	return *is_inside ? ranges[*first].end : ranges[*first].start;
}

/* Adds the row from @address to @end, which lie in one page, in as many parts as it needs. */
static int add_parts(struct flagging *flagging, const struct code_range *ranges, uint32_t count,
		     uint32_t *first, uint64_t address, uint64_t end, uint32_t id)
{
	while (address < end) {
		bool is_inside;
		uint64_t border = next_border(ranges, count, first, address, &is_inside);
		int err = add_row(flagging, address % UNWIND_PAGE_BYTES, id, is_inside);

		if (err)
			return err;
		address = border;
	}
	return 0;
}

/* True if a border lies in [@address, @end). */
static bool has_border(const struct code_range *ranges, uint32_t count, uint32_t first,
		       uint64_t address, uint64_t end)
{
	for (uint32_t i = first; i < count && ranges[i].start < end; i++)
		if (ranges[i].start >= address || (ranges[i].end >= address && ranges[i].end < end))
			return true;
	return false;
}

static int flag_rows(struct flagging *flagging, const struct code_range *ranges, uint32_t count)
{
	const struct stack_deltas *deltas = flagging->deltas;
	const uint8_t *offsets = stack_deltas_offsets(deltas);
	const uint16_t *rule_ids = stack_deltas_rule_ids(deltas);
	uint32_t first_range = 0;

	for (uint32_t page = 0; page < deltas->page_count; page++) {
		uint64_t start = deltas->text_start + (uint64_t)page * UNWIND_PAGE_BYTES;
		uint64_t page_end = start + UNWIND_PAGE_BYTES;
		uint32_t row = deltas->page_index[page];
		uint32_t row_end = deltas->page_index[page + 1];
		int err = 0;

		flagging->page_index[page] = flagging->offsets.count;
		/* A row that continues from the page before is repeated here only if it changes in this page. */
		if ((row == row_end || offsets[row]) &&
		    has_border(ranges, count, first_range, start, page_end)) {
			uint64_t end = row == row_end ? page_end : start + offsets[row];

			err = add_parts(flagging, ranges, count, &first_range, start, end,
					rule_ids[row - 1]);
		}
		for (; row < row_end && !err; row++) {
			uint64_t end = row + 1 == row_end ? page_end : start + offsets[row + 1];

			err = add_parts(flagging, ranges, count, &first_range, start + offsets[row],
					end, rule_ids[row]);
		}
		if (err)
			return err;
	}
	flagging->page_index[deltas->page_count] = flagging->offsets.count;
	return 0;
}

/* Replaces the old arrays by the new ones. */
static int take_arrays(struct flagging *flagging, struct stack_deltas *deltas)
{
	struct stack_deltas flagged = *deltas;

	if (!flagging->offsets.count)
		return 0;
	flagged.row_count = flagging->offsets.count;
	flagged.rows = calloc(1, stack_deltas_row_bytes(flagged.row_count));
	if (!flagged.rows)
		return fail(-ENOMEM, "no memory to flag the rows of a language's code");
	memcpy(stack_deltas_offsets(&flagged), flagging->offsets.items, flagged.row_count);
	memcpy(stack_deltas_rule_ids(&flagged), flagging->rule_ids.items,
	       flagged.row_count * sizeof(uint16_t));
	flagged.page_index = take_pointer(flagging->page_index);
	flagged.rules = take_pointer(flagging->rules);
	flagged.rule_count = flagging->rule_count;
	stack_deltas_deinit(deltas);
	*deltas = flagged;
	return 0;
}

int stack_deltas_flag_ranges(struct stack_deltas *deltas, const struct code_range *ranges,
			     uint32_t count, uint8_t flag, uint8_t language)
{
	_cleanup_(flagging_deinit) struct flagging flagging = { 0 };
	int err;

	for (uint32_t i = 0; i < count; i++)
		if (ranges[i].end < ranges[i].start || (i && ranges[i].start < ranges[i - 1].end))
			return fail(-EINVAL, "ranges of code are out of order");
	err = flagging_init(&flagging, deltas, flag, language);
	if (!err)
		err = flag_rows(&flagging, ranges, count);
	if (err)
		return err;
	if (flagging.rule_count > UNWIND_MAX_RULES)
		return fail(-E2BIG, "%u unwind rules", flagging.rule_count);
	return take_arrays(&flagging, deltas);
}
