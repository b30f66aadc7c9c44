/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup and check over hand-made tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/stack_deltas.h"

enum { TEXT = 0x10000, PAGES = 4, ROWS = 6, RULES = 4 };

/* Rows at 0:00, 0:10, 0:ff, 1:00, 1:80 and 3:40; the third page has none. */
static const struct {
	uint8_t offsets[CELL_BYTES];
	uint16_t numbers[CELL_BYTES / 2];
} good_rows = { { 0, 0x10, 0xff, 0, 0x80, 0x40 }, { 0, 1, 2, 3, 1, 2 } };
static const uint32_t good_index[PAGES + 1] = { 0, 3, 5, 5, 6 };

static int set_up(void **state)
{
	struct stack_deltas *deltas = calloc(1, sizeof(*deltas));

	*deltas = (struct stack_deltas){
		.text_start = TEXT,
		.page_count = PAGES,
		.row_count = ROWS,
		.rule_count = RULES,
		.page_index = malloc(sizeof(good_index)),
		.rows = malloc(sizeof(good_rows)),
		.rules = calloc(RULES, sizeof(struct unwind_rule)),
	};
	memcpy(deltas->page_index, good_index, sizeof(good_index));
	memcpy(deltas->rows, &good_rows, sizeof(good_rows));
	*state = deltas;
	return 0;
}

static int tear_down(void **state)
{
	stack_deltas_deinit(*state);
	free(*state);
	return 0;
}

static void a_row_holds_up_to_the_next_one_over_page_borders(void **state)
{
	static const struct {
		uint64_t address;
		uint32_t rule;
	} cases[] = {
		{ 0x10000, 0 }, { 0x1000f, 0 }, { 0x10010, 1 }, { 0x100fe, 1 }, { 0x100ff, 2 },
		{ 0x10100, 3 }, { 0x1017f, 3 }, { 0x10180, 1 }, { 0x10200, 1 }, { 0x102ff, 1 },
		{ 0x10300, 1 }, { 0x1033f, 1 }, { 0x10340, 2 }, { 0x103ff, 2 },
	};
	struct stack_deltas *deltas = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_ptr_equal(stack_deltas_lookup(deltas, cases[i].address),
				 &deltas->rules[cases[i].rule]);
}

static void outside_the_pages_there_is_no_rule(void **state)
{
	struct stack_deltas *deltas = *state;

	assert_null(stack_deltas_lookup(deltas, 0));
	assert_null(stack_deltas_lookup(deltas, TEXT - 1));
	assert_null(stack_deltas_lookup(deltas, TEXT + PAGES * UNWIND_PAGE_BYTES));
	assert_null(stack_deltas_lookup(deltas, UINT64_MAX));
}

static void cells_count_every_array_rounded_up(void **state)
{
	/* header 2, index 5/4, offsets 6/16, numbers 6/8, rules 4 */
	assert_int_equal(stack_deltas_cell_count(*state), 2 + 2 + 1 + 1 + 4);
}

static void sound_tables_pass_the_check(void **state)
{
	assert_int_equal(stack_deltas_check(*state), 0);
}

static void every_contradiction_is_found(void **state)
{
	struct stack_deltas *deltas = *state;
	const struct stack_deltas good = *deltas;

#define ASSERT_BAD(change)                                                                         \
	do {                                                                                       \
		change;                                                                            \
		assert_int_equal(stack_deltas_check(deltas), -EBADMSG);                            \
		*deltas = good;                                                                    \
		memcpy(deltas->page_index, good_index, sizeof(good_index));                        \
		memcpy(deltas->rows, &good_rows, sizeof(good_rows));                               \
		memset(deltas->rules, 0, RULES * sizeof(struct unwind_rule));                      \
		assert_int_equal(stack_deltas_check(deltas), 0);                                   \
	} while (0)

	ASSERT_BAD(deltas->page_count = 0);
	ASSERT_BAD(deltas->page_count = UNWIND_MAX_PAGES + 1);
	ASSERT_BAD(deltas->row_count = 0);
	ASSERT_BAD(deltas->row_count = ROWS - 1);
	ASSERT_BAD(deltas->rule_count = 0);
	ASSERT_BAD(deltas->rule_count = RULES - 1);
	ASSERT_BAD(deltas->rule_count = UNWIND_MAX_RULES + 1);
	ASSERT_BAD(deltas->text_start = TEXT + 1);
	ASSERT_BAD(deltas->text_start = -(uint64_t)UNWIND_PAGE_BYTES);
	ASSERT_BAD(deltas->page_index[0] = 1);
	ASSERT_BAD(deltas->page_index[1] = 0);
	ASSERT_BAD(deltas->page_index[2] = 2);
	ASSERT_BAD(deltas->page_index[PAGES] = ROWS + 1);
	ASSERT_BAD(deltas->page_index[PAGES] = ROWS - 1);
	ASSERT_BAD(stack_deltas_offsets(deltas)[0] = 1);
	ASSERT_BAD(stack_deltas_offsets(deltas)[1] = 0);
	ASSERT_BAD(stack_deltas_rule_ids(deltas)[4] = RULES);
	ASSERT_BAD(deltas->rules[2].cfa = CFA_KIND_COUNT);
	ASSERT_BAD(deltas->rules[2].ra = SAVED_KIND_COUNT);
	ASSERT_BAD(deltas->rules[2].fp = SAVED_KIND_COUNT);
#undef ASSERT_BAD
}

static void deinit_takes_zeroes_and_leaves_zeroes(void **state)
{
	struct stack_deltas zero = { 0 };
	struct stack_deltas *deltas = *state;

	stack_deltas_deinit(&zero);
	stack_deltas_deinit(NULL);
	stack_deltas_deinit(deltas);
	assert_memory_equal(deltas, &zero, sizeof(zero));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_row_holds_up_to_the_next_one_over_page_borders),
		TEST(outside_the_pages_there_is_no_rule),
		TEST(cells_count_every_array_rounded_up),
		TEST(sound_tables_pass_the_check),
		TEST(every_contradiction_is_found),
		TEST(deinit_takes_zeroes_and_leaves_zeroes),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
