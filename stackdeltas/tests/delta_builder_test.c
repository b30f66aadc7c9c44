/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, rules and page index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "stackdeltas/delta_builder.h"

enum { START = 0x10010, END = 0x10480 };

static struct unwind_rule rule_of(int32_t offset)
{
	return (struct unwind_rule){
		.cfa = CFA_SP, .ra = SAVED_AT_CFA, .ra_offset = -8, .cfa_offset = offset
	};
}

static uint32_t intern(struct delta_builder *builder, int32_t offset)
{
	const struct unwind_rule rule = rule_of(offset);
	uint32_t number = UINT32_MAX;

	assert_int_equal(delta_builder_intern(builder, &rule, &number), 0);
	return number;
}

static void assert_offset(const struct stack_deltas *deltas, uint64_t address, int32_t offset)
{
	const struct unwind_rule *rule = stack_deltas_lookup(deltas, address);

	assert_non_null(rule);
	assert_int_equal(rule->cfa, offset ? CFA_SP : CFA_NONE);
	assert_int_equal(rule->cfa_offset, offset);
}

static void rows_are_found_where_they_were_put(void **state)
{
	struct delta_builder builder;
	struct stack_deltas deltas = { 0 };

	(void)state;
	assert_int_equal(delta_builder_init(&builder, START, END, 0), 0);
	assert_int_equal(delta_builder_add(&builder, START, intern(&builder, 8)), 0);
	assert_int_equal(delta_builder_add(&builder, 0x10100, intern(&builder, 16)), 0);
	assert_int_equal(delta_builder_add(&builder, 0x103ff, intern(&builder, 8)), 0);
	assert_int_equal(delta_builder_finish(&builder, &deltas), 0);
	delta_builder_deinit(&builder);
	assert_int_equal(stack_deltas_check(&deltas), 0);
	assert_int_equal(deltas.text_start, 0x10000);
	assert_int_equal(deltas.page_count, 5);
	assert_int_equal(deltas.rule_count, 4);
	assert_offset(&deltas, 0x1000f, 0);
	assert_offset(&deltas, START, 8);
	assert_offset(&deltas, 0x100ff, 8);
	assert_offset(&deltas, 0x10100, 16);
	assert_offset(&deltas, 0x103fe, 16);
	assert_offset(&deltas, 0x103ff, 8);
	assert_offset(&deltas, END - 1, 8);
	assert_offset(&deltas, END, 0);
	stack_deltas_deinit(&deltas);
}

static void equal_neighbours_are_one_row(void **state)
{
	struct delta_builder builder;
	struct stack_deltas deltas = { 0 };

	(void)state;
	assert_int_equal(delta_builder_init(&builder, 0x10000, 0x10800, 0), 0);
	for (uint64_t address = 0x10000; address < 0x10800; address += 16)
		assert_int_equal(delta_builder_add(&builder, address, intern(&builder, 8)), 0);
	assert_int_equal(delta_builder_finish(&builder, &deltas), 0);
	delta_builder_deinit(&builder);
	assert_int_equal(deltas.row_count, 1);
	assert_int_equal(stack_deltas_check(&deltas), 0);
	assert_offset(&deltas, 0x107ff, 8);
	stack_deltas_deinit(&deltas);
}

static void a_rollback_undoes_rows_over_page_borders(void **state)
{
	struct delta_builder builder;
	struct stack_deltas deltas = { 0 };
	struct delta_builder_mark mark;

	(void)state;
	assert_int_equal(delta_builder_init(&builder, START, END, 0), 0);
	assert_int_equal(delta_builder_add(&builder, START, intern(&builder, 8)), 0);
	mark = delta_builder_mark(&builder);
	for (uint64_t address = START + 1; address < END; address++)
		assert_int_equal(delta_builder_add(&builder, address, intern(&builder, address)),
				 0);
	delta_builder_rollback(&builder, &mark);
	/* Joined with the row before the mark. */
	assert_int_equal(delta_builder_add(&builder, START + 1, intern(&builder, 8)), 0);
	assert_int_equal(delta_builder_add(&builder, 0x10200, intern(&builder, 24)), 0);
	assert_int_equal(delta_builder_finish(&builder, &deltas), 0);
	delta_builder_deinit(&builder);
	assert_int_equal(stack_deltas_check(&deltas), 0);
	assert_int_equal(deltas.row_count, 4);
	assert_offset(&deltas, 0x101ff, 8);
	assert_offset(&deltas, 0x10200, 24);
	assert_offset(&deltas, END - 1, 24);
	stack_deltas_deinit(&deltas);
}

static void equal_rules_have_one_number_however_many_there_are(void **state)
{
	enum { COUNT = 20000 };
	struct delta_builder builder;

	(void)state;
	assert_int_equal(delta_builder_init(&builder, START, END, 0), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < COUNT; i++)
			assert_int_equal(intern(&builder, i * 8), i + 2);
	delta_builder_deinit(&builder);
}

static void rules_beyond_the_limit_are_unsupported(void **state)
{
	struct delta_builder builder;

	(void)state;
	assert_int_equal(delta_builder_init(&builder, START, END, 0), 0);
	for (uint32_t i = 2; i < UNWIND_MAX_RULES; i++)
		assert_int_equal(intern(&builder, i), i);
	assert_int_equal(intern(&builder, 1 << 24), DELTA_RULE_UNSUPPORTED);
	assert_int_equal(intern(&builder, 2), 2);
	delta_builder_deinit(&builder);
}

static void too_much_text_is_refused(void **state)
{
	struct delta_builder builder;

	(void)state;
	assert_int_equal(delta_builder_init(&builder, 0, 1ULL << 48, 0), -E2BIG);
	delta_builder_deinit(&builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_where_they_were_put),
		cmocka_unit_test(equal_neighbours_are_one_row),
		cmocka_unit_test(a_rollback_undoes_rows_over_page_borders),
		cmocka_unit_test(equal_rules_have_one_number_however_many_there_are),
		cmocka_unit_test(rules_beyond_the_limit_are_unsupported),
		cmocka_unit_test(too_much_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
