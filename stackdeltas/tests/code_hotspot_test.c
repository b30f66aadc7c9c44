/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of stubs as HotSpot makes them, written out in bytes; the same code is not believed of others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "stackdeltas/code_analysis.h"
#include "stackdeltas/rule_text.h"

enum { BASE = 0x1000, MAX_ROWS = 64 };

struct rows {
	uint64_t addresses[MAX_ROWS];
	struct unwind_rule rules[MAX_ROWS];
	size_t count;
};

static int keep_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct rows *rows = context;

	assert_true(rows->count < MAX_ROWS);
	rows->addresses[rows->count] = address;
	rows->rules[rows->count++] = *rule;
	return 0;
}

/* Functions start at BASE and, if that is not 0, at BASE + @second. */
static void analyse(const uint8_t *bytes, size_t size, size_t second, bool is_hotspot,
		    struct rows *rows)
{
	const struct code_bytes range = { BASE, bytes, size };
	const uint64_t starts[] = { BASE, BASE + second };
	const struct code_analysis_input input = {
		.machine = EM_X86_64,
		.ranges = &range,
		.range_count = 1,
		.starts = starts,
		.start_count = second ? 2 : 1,
		.is_hotspot = is_hotspot,
	};
	const struct code_row_handler handler = { rows, keep_row };

	memset(rows, 0, sizeof(*rows));
	assert_int_equal(code_analysis_run(&input, &handler, NULL), 0);
}

static const struct unwind_rule *rule_at(const struct rows *rows, size_t offset)
{
	size_t i = rows->count;

	while (rows->addresses[i - 1] > BASE + offset)
		i--;
	return &rows->rules[i - 1];
}

static void expect(const struct rows *rows, size_t offset, const char *text)
{
	char actual[RULE_TEXT_MAX_BYTES];
	struct unwind_rule rule = *rule_at(rows, offset);

	assert_false(rule.flags & RULE_GUESS);
	rule_text(&rule, EM_X86_64, actual);
	assert_string_equal(actual, text);
}

static void test_what_stands_behind_a_call_needs_no_proof(void **state)
{
	/* push rbp; mov rsp,rbp; call *r10; sub $8,rsp; call *r10; hlt */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0xff, 0xd2, 0x48,
					0x83, 0xec, 8,	  0x41, 0xff, 0xd2, 0xf4 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 7, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 14, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	analyse(code, sizeof(code), 0, false, &rows);
	assert_true(rule_at(&rows, 7)->flags & RULE_GUESS);
}

static void test_rbx_is_nobodys_to_keep(void **state)
{
	/* push rcx; mov rax,rbx; pop rcx; ret */
	static const uint8_t code[] = { 0x51, 0x48, 0x89, 0xc3, 0x59, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	assert_int_equal(rule_at(&rows, 1)->cfa_offset, 16);
	assert_false(rule_at(&rows, 1)->flags & RULE_GUESS);
	analyse(code, sizeof(code), 0, false, &rows);
	assert_true(rule_at(&rows, 1)->flags & RULE_GUESS);
}

static void test_a_stub_may_pop_its_return_address_and_jump(void **state)
{
	/* sub $8,rsp; call *r10; add $8,rsp; pop rdx; jmp *rax */
	static const uint8_t code[] = { 0x48, 0x83, 0xec, 8, 0x41, 0xff, 0xd2,
					0x48, 0x83, 0xc4, 8, 0x5a, 0xff, 0xe0 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 7, "cfa=sp+16 ra=cfa-8 fp=same");
	expect(&rows, 11, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(&rows, 12, "cfa=sp+0 ra=r1 fp=same");
	analyse(code, sizeof(code), 0, false, &rows);
	assert_true(rule_at(&rows, 11)->flags & RULE_GUESS);
}

static void test_what_is_stored_over_the_return_address_is_where_the_caller_goes_on(void **state)
{
	/* push rbp; mov rsp,rbp; mov rdx,8(rbp); and $-16,rsp; mov rdx,8(rbp); leave; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x55, 8,	0x48,
					0x83, 0xe4, 0xf0, 0x48, 0x89, 0x55, 8,	  0xc9, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 8, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 16, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 17, "cfa=sp+8 ra=cfa-8 fp=same");
	analyse(code, sizeof(code), 0, false, &rows);
	assert_int_equal(rule_at(&rows, 8)->cfa, CFA_NONE);
}

static void test_a_stack_made_anew_has_no_rule_and_costs_no_belief(void **state)
{
	/* push rbp; pop rbp; add rcx,rsp; push rbp; ret */
	static const uint8_t code[] = { 0x55, 0x5d, 0x48, 0x01, 0xcc, 0x55, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 1, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	assert_int_equal(rule_at(&rows, 5)->cfa, CFA_NONE);
	analyse(code, sizeof(code), 0, false, &rows);
	assert_true(rule_at(&rows, 1)->flags & RULE_GUESS);
}

static void test_an_entry_behind_the_making_of_a_frame_is_no_start(void **state)
{
	/* push rbp; mov rsp,rbp; nop; leave; ret: with an entry at the no-op */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x90, 0xc9, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 5, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	analyse(code, sizeof(code), 4, true, &rows);
	expect(&rows, 4, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 6, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_the_own_frame_pointer_comes_back_from_the_stack(void **state)
{
	/* push rbp; mov rsp,rbp; sub $16,rsp; mov rbp,8(rsp); xor ebp,ebp; mov 8(rsp),rbp; leave; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 16,
					0x48, 0x89, 0x6c, 0x24, 8,    0x31, 0xed, 0x48,
					0x8b, 0x6c, 0x24, 8,	0xc9, 0xc3 };
	uint8_t changed[sizeof(code)];
	struct rows rows;

	(void)state;
	for (int is_hotspot = 0; is_hotspot < 2; is_hotspot++) {
		analyse(code, sizeof(code), 0, is_hotspot, &rows);
		expect(&rows, 15, "cfa=sp+32 ra=cfa-8 fp=cfa-16");
		expect(&rows, 21, "cfa=sp+8 ra=cfa-8 fp=same");
	}
	/* From another place. */
	memcpy(changed, code, sizeof(code));
	changed[19] = 0;
	analyse(changed, sizeof(changed), 0, true, &rows);
	assert_int_equal(rule_at(&rows, 21)->cfa, CFA_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_stands_behind_a_call_needs_no_proof),
		cmocka_unit_test(test_rbx_is_nobodys_to_keep),
		cmocka_unit_test(test_a_stub_may_pop_its_return_address_and_jump),
		cmocka_unit_test(
			test_what_is_stored_over_the_return_address_is_where_the_caller_goes_on),
		cmocka_unit_test(test_a_stack_made_anew_has_no_rule_and_costs_no_belief),
		cmocka_unit_test(test_an_entry_behind_the_making_of_a_frame_is_no_start),
		cmocka_unit_test(test_the_own_frame_pointer_comes_back_from_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
