/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions as compilers, linkers and hand-written code have them, and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"
#include "stackdeltas/cfa_expression.h"

#define RSP (DW_OP_breg0 + DWARF_X86_RSP)
#define RBP (DW_OP_breg0 + DWARF_X86_RBP)
#define RIP (DW_OP_breg0 + DWARF_X86_RIP)
#define LIT(n) (DW_OP_lit0 + (n))

#define RECOGNISE(starts_with_cfa, expression, ...)                                                \
	cfa_expression_recognise((const uint8_t[]){ __VA_ARGS__ },                                 \
				 sizeof((const uint8_t[]){ __VA_ARGS__ }), starts_with_cfa,        \
				 expression)

static void the_plt_of_gnu_ld_and_lld_is_recognised(void **state)
{
	struct cfa_expression expression;

	(void)state;
	assert_true(RECOGNISE(false, &expression, RSP, 8, RIP, 0, LIT(15), DW_OP_and, LIT(11),
			      DW_OP_ge, LIT(3), DW_OP_shl, DW_OP_plus));
	assert_int_equal(expression.kind, CFA_EXPRESSION_PLT);
	assert_int_equal(expression.offset, 8);
	assert_int_equal(expression.addend, 11);
}

static void what_only_looks_like_a_plt_is_not(void **state)
{
	struct cfa_expression expression;

	(void)state;
	assert_false(RECOGNISE(false, &expression, RBP, 8, RIP, 0, LIT(15), DW_OP_and, LIT(11),
			       DW_OP_ge, LIT(3), DW_OP_shl, DW_OP_plus));
	assert_false(RECOGNISE(false, &expression, RSP, 8, RIP, 0, LIT(15), DW_OP_and, LIT(16),
			       DW_OP_ge, LIT(3), DW_OP_shl, DW_OP_plus));
	assert_false(RECOGNISE(false, &expression, RSP, 8, RIP, 0, LIT(15), DW_OP_and, LIT(11),
			       DW_OP_ge, LIT(4), DW_OP_shl, DW_OP_plus));
	assert_false(RECOGNISE(false, &expression, RSP, 8, RIP, 0, LIT(15), DW_OP_and, LIT(11),
			       DW_OP_ge, LIT(3), DW_OP_shl, DW_OP_plus, DW_OP_deref));
}

static void long_expressions_are_not_read(void **state)
{
	struct cfa_expression expression;
	uint8_t bytes[65] = { RBP, 16 };

	(void)state;
	memset(bytes + 2, DW_OP_nop, sizeof(bytes) - 2);
	assert_true(cfa_expression_recognise(bytes, 64, false, &expression));
	assert_int_equal(expression.offset, 16);
	assert_false(cfa_expression_recognise(bytes, 65, false, &expression));
}

static void sums_are_added_up(void **state)
{
	struct cfa_expression expression;

	(void)state;
	assert_true(RECOGNISE(false, &expression, RBP, 0x78));
	assert_int_equal(expression.kind, CFA_EXPRESSION_SUM);
	assert_int_equal(expression.number, DWARF_X86_RBP);
	assert_int_equal(expression.offset, -8);
	assert_true(RECOGNISE(false, &expression, DW_OP_bregx, 12, 4, DW_OP_plus_uconst, 0x80, 1,
			      DW_OP_nop, DW_OP_const1s, 0xff, DW_OP_plus, LIT(2), DW_OP_minus));
	assert_int_equal(expression.kind, CFA_EXPRESSION_SUM);
	assert_int_equal(expression.number, 12);
	assert_int_equal(expression.offset, 4 + 128 - 1 - 2);
}

static void a_load_may_have_sums_on_both_sides(void **state)
{
	struct cfa_expression expression;

	(void)state;
	assert_true(RECOGNISE(false, &expression, RSP, 0xf8, 0, DW_OP_deref, DW_OP_plus_uconst, 8));
	assert_int_equal(expression.kind, CFA_EXPRESSION_DEREF);
	assert_int_equal(expression.number, DWARF_X86_RSP);
	assert_int_equal(expression.offset, 120);
	assert_int_equal(expression.addend, 8);
	assert_true(RECOGNISE(false, &expression, RSP, 0, DW_OP_const2u, 0, 1, DW_OP_plus,
			      DW_OP_deref, DW_OP_const4s, 0xfe, 0xff, 0xff, 0xff, DW_OP_plus));
	assert_int_equal(expression.offset, 256);
	assert_int_equal(expression.addend, -2);
	assert_false(RECOGNISE(false, &expression, RSP, 0, DW_OP_deref, DW_OP_deref));
}

static void only_registers_start_from_the_cfa(void **state)
{
	struct cfa_expression expression;

	(void)state;
	assert_true(RECOGNISE(true, &expression, DW_OP_plus_uconst, 16));
	assert_true(expression.is_from_cfa);
	assert_int_equal(expression.offset, 16);
	assert_true(RECOGNISE(true, &expression, RBP, 0));
	assert_false(expression.is_from_cfa);
	assert_false(RECOGNISE(false, &expression, DW_OP_plus_uconst, 16));
	assert_true(cfa_expression_recognise(NULL, 0, true, &expression));
	assert_false(cfa_expression_recognise(NULL, 0, false, &expression));
}

static void cut_unknown_and_overflowing_ones_are_not_recognised(void **state)
{
	struct cfa_expression expression;

	(void)state;
	assert_false(RECOGNISE(false, &expression, RSP));
	assert_false(RECOGNISE(false, &expression, RSP, 0x80));
	assert_false(RECOGNISE(false, &expression, RSP, 8, DW_OP_const8u, 1, 2));
	assert_false(RECOGNISE(false, &expression, RSP, 8, LIT(3)));
	assert_false(RECOGNISE(false, &expression, RSP, 8, LIT(3), DW_OP_shl));
	assert_false(RECOGNISE(false, &expression, RSP, 8, 0xe0));
	assert_false(RECOGNISE(false, &expression, RSP, 8, DW_OP_const8u, 0xff, 0xff, 0xff, 0xff,
			       0xff, 0xff, 0xff, 0x7f, DW_OP_plus));
	assert_false(RECOGNISE(false, &expression, RSP, 0, DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80,
			       DW_OP_minus));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_plt_of_gnu_ld_and_lld_is_recognised),
		cmocka_unit_test(what_only_looks_like_a_plt_is_not),
		cmocka_unit_test(long_expressions_are_not_read),
		cmocka_unit_test(sums_are_added_up),
		cmocka_unit_test(a_load_may_have_sums_on_both_sides),
		cmocka_unit_test(only_registers_start_from_the_cfa),
		cmocka_unit_test(cut_unknown_and_overflowing_ones_are_not_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
