/* SPDX-License-Identifier: Apache-2.0 */
/* Flagged tables are compared with the old ones address by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/flag_ranges.h"

enum { TEXT = 0x10000, PAGES = 4, ROWS = 6, RULES = 4, FLAG = RULE_LOOP };

/* Rows at 0:00, 0:10, 0:ff, 1:00, 1:80 and 3:40; the third page has none. */
static const struct {
	uint8_t offsets[CELL_BYTES];
	uint16_t numbers[CELL_BYTES / 2];
} good_rows = { { 0, 0x10, 0xff, 0, 0x80, 0x40 }, { 0, 1, 2, 3, 1, 2 } };
static const uint32_t good_index[PAGES + 1] = { 0, 3, 5, 5, 6 };

static struct stack_deltas make_deltas(void)
{
	struct stack_deltas deltas = {
		.text_start = TEXT,
		.page_count = PAGES,
		.row_count = ROWS,
		.rule_count = RULES,
		.page_index = malloc(sizeof(good_index)),
		.rows = malloc(sizeof(good_rows)),
		.rules = calloc(RULES, sizeof(struct unwind_rule)),
	};

	memcpy(deltas.page_index, good_index, sizeof(good_index));
	memcpy(deltas.rows, &good_rows, sizeof(good_rows));
	for (uint32_t i = 0; i < RULES; i++) {
		deltas.rules[i].cfa = CFA_SP;
		deltas.rules[i].cfa_offset = (int32_t)i;
		deltas.rules[i].flags = i == 3 ? RULE_GUESS : 0;
	}
	return deltas;
}

static bool is_in(const struct code_range *ranges, uint32_t count, uint64_t address)
{
	for (uint32_t i = 0; i < count; i++)
		if (address >= ranges[i].start && address < ranges[i].end)
			return true;
	return false;
}

/* Flags @ranges and compares every address. */
static void check(const struct code_range *ranges, uint32_t count)
{
	struct stack_deltas before = make_deltas();
	struct stack_deltas after = make_deltas();

	assert_int_equal(stack_deltas_flag_ranges(&after, ranges, count, FLAG, 0), 0);
	assert_int_equal(stack_deltas_check(&after), 0);
	for (uint64_t address = TEXT - 2; address < TEXT + PAGES * UNWIND_PAGE_BYTES + 2;
	     address++) {
		const struct unwind_rule *old = stack_deltas_lookup(&before, address);
		const struct unwind_rule *new = stack_deltas_lookup(&after, address);
		struct unwind_rule expected;

		if (!old) {
			assert_null(new);
			continue;
		}
		expected = *old;
		if (is_in(ranges, count, address))
			expected.flags |= FLAG;
		assert_memory_equal(new, &expected, sizeof(expected));
	}
	stack_deltas_deinit(&before);
	stack_deltas_deinit(&after);
}

static void every_address_of_a_range_is_flagged_and_no_other(void **state)
{
	const struct code_range ranges[] = { { TEXT + 0x20, TEXT + 0x130 } };

	(void)state;
	check(ranges, 1);
}

static void any_range_is_exact(void **state)
{
	(void)state;
	for (uint64_t start = 0; start < PAGES * UNWIND_PAGE_BYTES; start += 5) {
		for (uint64_t end = start; end <= PAGES * UNWIND_PAGE_BYTES; end += 61) {
			const struct code_range range = { TEXT + start, TEXT + end };

			check(&range, 1);
		}
	}
}

static void borders_at_pages_and_rows_are_exact(void **state)
{
	static const uint64_t offsets[] = { 0,	   0x10,  0xff,	 0x100, 0x101, 0x180,
					    0x1ff, 0x200, 0x300, 0x340, 0x3ff, 0x400 };
	const size_t count = sizeof(offsets) / sizeof(offsets[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = i; k < count; k++) {
			const struct code_range range = { TEXT + offsets[i], TEXT + offsets[k] };

			check(&range, 1);
		}
	}
}

static void several_ranges_may_touch_and_lie_in_one_page(void **state)
{
	const struct code_range ranges[] = {
		{ 0, 0x10 },
		{ TEXT + 2, TEXT + 4 },
		{ TEXT + 4, TEXT + 9 },
		{ TEXT + 0xfe, TEXT + 0x100 },
		{ TEXT + 0x210, TEXT + 0x220 },
		{ TEXT + 0x230, TEXT + 0x230 },
		{ TEXT + 0x240, TEXT + 0x250 },
		{ TEXT + 0x3f0, UINT64_MAX },
	};

	(void)state;
	check(ranges, sizeof(ranges) / sizeof(ranges[0]));
	check(ranges, 0);
}

static void where_rows_say_nothing_the_language_is_asked(void **state)
{
	const struct code_range range = { TEXT + 0x20, TEXT + 0x130 };
	struct stack_deltas deltas = make_deltas();
	const struct unwind_rule *rule;

	(void)state;
	/* From 0:10 to 0:ff, and from 1:80 on. */
	deltas.rules[1] = (struct unwind_rule){ .cfa = CFA_NONE };
	assert_int_equal(stack_deltas_flag_ranges(&deltas, &range, 1, FLAG, 7), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, TEXT + 0x1f)->cfa, CFA_NONE);
	rule = stack_deltas_lookup(&deltas, TEXT + 0x20);
	assert_int_equal(rule->cfa, CFA_LANGUAGE);
	assert_int_equal(rule->cfa_addend, 7);
	assert_int_equal(rule->flags, FLAG);
	assert_int_equal(stack_deltas_lookup(&deltas, TEXT + 0xff)->cfa, CFA_SP);
	assert_int_equal(stack_deltas_lookup(&deltas, TEXT + 0x180)->cfa, CFA_NONE);
	stack_deltas_deinit(&deltas);
}

static void ranges_out_of_order_are_refused(void **state)
{
	const struct code_range overlapping[] = { { TEXT, TEXT + 8 }, { TEXT + 7, TEXT + 9 } };
	const struct code_range reversed[] = { { TEXT + 8, TEXT } };
	struct stack_deltas deltas = make_deltas();

	(void)state;
	assert_int_equal(stack_deltas_flag_ranges(&deltas, overlapping, 2, FLAG, 0), -EINVAL);
	assert_int_equal(stack_deltas_flag_ranges(&deltas, reversed, 1, FLAG, 0), -EINVAL);
	assert_int_equal(deltas.row_count, ROWS);
	stack_deltas_deinit(&deltas);
}

static void more_rules_than_there_may_be_are_refused(void **state)
{
	const struct code_range range = { TEXT, TEXT + 0x400 };
	struct stack_deltas deltas = make_deltas();

	(void)state;
	free(deltas.rules);
	deltas.rule_count = UNWIND_MAX_RULES;
	deltas.rules = calloc(UNWIND_MAX_RULES, sizeof(struct unwind_rule));
	/* The last number there can be, in two rows. */
	stack_deltas_rule_ids(&deltas)[0] = UINT16_MAX;
	stack_deltas_rule_ids(&deltas)[2] = UINT16_MAX;
	assert_int_equal(stack_deltas_flag_ranges(&deltas, &range, 1, FLAG, 0), -E2BIG);
	assert_int_equal(deltas.rule_count, UNWIND_MAX_RULES);
	stack_deltas_deinit(&deltas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_of_a_range_is_flagged_and_no_other),
		cmocka_unit_test(any_range_is_exact),
		cmocka_unit_test(borders_at_pages_and_rows_are_exact),
		cmocka_unit_test(several_ranges_may_touch_and_lie_in_one_page),
		cmocka_unit_test(where_rows_say_nothing_the_language_is_asked),
		cmocka_unit_test(ranges_out_of_order_are_refused),
		cmocka_unit_test(more_rules_than_there_may_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
