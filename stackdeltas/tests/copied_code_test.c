/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/copied_code.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ADDRESS = 0x7f0000, SIZE = 20480 };

static uint8_t code[SIZE];

/* A function with a frame of @frame_bytes bytes and @padding bytes of nops before its call. Returns its size. */
static size_t put_function(size_t at, uint32_t frame_bytes, size_t padding)
{
	uint8_t *byte = code + at;

	memcpy(byte, (uint8_t[]){ 0x48, 0x81, 0xec }, 3);
	memcpy(byte + 3, &frame_bytes, 4);
	memset(byte + 7, 0x90, padding);
	byte += 7 + padding;
	/* call *%rdi; add $BYTES,%rsp; ret */
	memcpy(byte, (uint8_t[]){ 0xff, 0xd7, 0x48, 0x81, 0xc4 }, 5);
	memcpy(byte + 5, &frame_bytes, 4);
	byte[9] = 0xc3;
	return 17 + padding;
}

static int analyse(struct stack_deltas *deltas)
{
	int err = copied_code_analyse(EM_X86_64, ADDRESS, code, SIZE, deltas);

	if (!err)
		assert_int_equal(stack_deltas_check(deltas), 0);
	return err;
}

static int setup(void **state)
{
	(void)state;
	memset(code, 0xcc, sizeof(code));
	return 0;
}

static void a_function_has_the_rules_of_its_instructions(void **state)
{
	struct stack_deltas deltas;
	const struct unwind_rule *rule;

	(void)state;
	put_function(16, 104, 20);
	/* No instructions of x86-64. */
	memset(code + 4096, 0x06, SIZE - 4096);
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(deltas.text_start, ADDRESS);
	assert_int_equal(deltas.page_count, SIZE / UNWIND_PAGE_BYTES);
	rule = stack_deltas_lookup(&deltas, ADDRESS + 16);
	assert_int_equal(rule->cfa, CFA_SP);
	assert_int_equal(rule->cfa_offset, 8);
	rule = stack_deltas_lookup(&deltas, ADDRESS + 16 + 7);
	assert_int_equal(rule->cfa, CFA_SP);
	assert_int_equal(rule->cfa_offset, 112);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + 4096)->cfa, CFA_NONE);
	stack_deltas_deinit(&deltas);
}

static void what_is_not_certain_is_left_out(void **state)
{
	struct stack_deltas deltas;

	(void)state;
	/* The frame that is left is not the one that was made. */
	put_function(16, 104, 20);
	code[16 + 20 + 7 + 5] = 96;
	/* Code that ends a stack, as a program may make it by hand: hlt. */
	code[1024] = 0xf4;
	assert_int_equal(analyse(&deltas), 0);
	for (uint64_t address = ADDRESS; address < ADDRESS + SIZE; address++) {
		const struct unwind_rule *rule = stack_deltas_lookup(&deltas, address);

		assert_int_equal(rule->flags, 0);
		assert_int_not_equal(rule->cfa, CFA_END);
	}
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + 16 + 20)->cfa, CFA_NONE);
	stack_deltas_deinit(&deltas);
}

static void a_function_that_only_looks_called_is_not_certain(void **state)
{
	/* call, to a loop without an exit: inc %eax; jmp */
	static const uint8_t call[] = { 0xe8, 0x1b, 0x01, 0x00, 0x00, 0xc3 };
	static const uint8_t loop[] = { 0xff, 0xc0, 0xeb, 0xfc };
	struct stack_deltas deltas;

	(void)state;
	memcpy(code + 512, call, sizeof(call));
	memcpy(code + 512 + 5 + 0x11b, loop, sizeof(loop));
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + 512 + 5 + 0x11b)->cfa, CFA_NONE);
	stack_deltas_deinit(&deltas);
}

/* Whether the checks of page @page differ between @before and the code as it is now. */
static bool differs(const struct stack_deltas *before, uint32_t page)
{
	struct stack_deltas after;
	bool differs;

	assert_int_equal(analyse(&after), 0);
	differs = memcmp(&before->checks[page], &after.checks[page], sizeof(after.checks[page]));
	stack_deltas_deinit(&after);
	return differs;
}

/* Copies @bytes to the code at @at and returns the offset behind them. */
static size_t put(size_t at, const uint8_t *bytes, size_t size)
{
	memcpy(code + at, bytes, size);
	return at + size;
}

/* A jump or a call from @at to @target; returns the offset behind it. */
static size_t put_branch(size_t at, uint8_t opcode, size_t target)
{
	int32_t distance = (int32_t)target - (int32_t)(at + 5);

	code[at] = opcode;
	memcpy(code + at + 1, &distance, sizeof(distance));
	return at + 5;
}

static size_t put_jump(size_t at, size_t target)
{
	return put_branch(at, 0xe9, target);
}

static void assert_extent(const struct stack_deltas *deltas, uint32_t page, uint32_t first,
			  uint32_t last)
{
	assert_int_not_equal(deltas->checks[page].fingerprint, 0);
	assert_int_equal(deltas->checks[page].pages_before, page - first);
	assert_int_equal(deltas->checks[page].pages_after, last - page);
}

static void a_page_depends_on_all_code_of_its_functions(void **state)
{
	struct stack_deltas deltas;

	(void)state;
	/* One that begins with the last bytes of page 1, and ends in page 4; another one is in page 5. */
	put_function(512 - 7, 104, 600);
	put_function(1280, 40, 20);
	assert_int_equal(analyse(&deltas), 0);
	for (uint32_t page = 0; page < 6; page++)
		assert_extent(&deltas, page, page >= 1 && page <= 4 ? 1 : page,
			      page >= 1 && page <= 4 ? 4 : page);
	/* Another size of the frame. */
	code[512 - 4] ^= 16;
	code[512 - 7 + 7 + 600 + 5] ^= 16;
	for (uint32_t page = 0; page < deltas.page_count; page++)
		assert_int_equal(differs(&deltas, page), page >= 1 && page <= 4);
	stack_deltas_deinit(&deltas);
}

static const uint8_t begin[] = { 0x48, 0x83, 0xec, 0x68, 0xff, 0xd7 };
static const uint8_t push[] = { 0x48, 0x83, 0xec, 0x20 };
static const uint8_t end[] = { 0x48, 0x81, 0xc4, 0x88, 0x00, 0x00, 0x00, 0xc3 };

static void a_path_may_come_from_a_later_page(void **state)
{
	struct stack_deltas deltas;

	(void)state;
	/* sub $104,%rsp; call *%rdi; jmp, to page 7: sub $32,%rsp; jmp, to page 2: call *%rdi; add $136,%rsp; ret */
	put_jump(put(16, begin, sizeof(begin)), 7 * 256 + 10);
	put_jump(put(7 * 256 + 10, push, sizeof(push)), 2 * 256 + 10);
	put(put(2 * 256 + 10, begin + 4, 2), end, sizeof(end));
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + 2 * 256 + 10)->cfa_offset, 144);
	for (uint32_t page = 0; page < 3; page += 2)
		assert_extent(&deltas, page, 0, 7);
	code[7 * 256 + 13] ^= 16;
	code[2 * 256 + 15] ^= 16;
	assert_true(differs(&deltas, 2));
	stack_deltas_deinit(&deltas);
}

static void a_path_may_come_from_code_before_the_start(void **state)
{
	static const uint8_t leave[] = { 0x48, 0x83, 0xc4, 0x68, 0xc3 };
	struct stack_deltas deltas;

	(void)state;
	/* sub $104,%rsp; call *%rdi; jmp, to code that is in an earlier page: call *%rdi; add $104,%rsp; ret */
	put(put(4 * 256 + 10, begin + 4, 2), leave, sizeof(leave));
	put_jump(put(10 * 256, begin, sizeof(begin)), 4 * 256 + 10);
	/* Its start is known, since it is called. */
	code[put_branch(13 * 256, 0xe8, 10 * 256)] = 0xc3;
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + 4 * 256 + 10)->cfa_offset, 112);
	assert_extent(&deltas, 4, 4, 10);
	assert_extent(&deltas, 10, 4, 10);
	stack_deltas_deinit(&deltas);
}

static void functions_that_share_code_depend_on_each_other(void **state)
{
	static const uint8_t leave[] = { 0x48, 0x83, 0xc4, 0x68, 0xc3 };
	struct stack_deltas deltas;

	(void)state;
	/* Two functions with the same end: sub $104,%rsp; call *%rdi; jmp, to: call *%rdi; add $104,%rsp; ret */
	put_jump(put(3 * 256, begin, sizeof(begin)), 9 * 256);
	put_jump(put(14 * 256, begin, sizeof(begin)), 9 * 256);
	put(put(9 * 256, begin + 4, 2), leave, sizeof(leave));
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + 9 * 256)->cfa_offset, 112);
	for (uint32_t page = 0; page < deltas.page_count; page++)
		if (page == 3 || page == 9 || page == 14)
			assert_extent(&deltas, page, 3, 14);
		else
			assert_extent(&deltas, page, page, page);
	stack_deltas_deinit(&deltas);
}

static void data_in_front_of_a_function_does_not_change_its_rules(void **state)
{
	struct stack_deltas deltas;
	size_t start;

	(void)state;
	/* The data is the beginning of mov $IMMEDIATE,%rax, whose rest is the first instruction of the function. */
	start = 16 + put_function(16, 104, 20);
	start = put(start, (uint8_t[]){ 0x48, 0xb8, 0x00 }, 3);
	put_function(start, 104, 20);
	code[put_branch(4096, 0xe8, start)] = 0xc3;
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + start)->cfa_offset, 8);
	for (size_t at = start + 7; at < start + 7 + 20; at++) {
		const struct unwind_rule *rule = stack_deltas_lookup(&deltas, ADDRESS + at);

		assert_true(rule->cfa == CFA_NONE || rule->cfa_offset == 112);
	}
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + start + 7 + 22)->cfa_offset, 112);
	stack_deltas_deinit(&deltas);
}

static void any_doubt_about_a_function_counts(void **state)
{
	/* je, to the ret in front of it; mov $IMMEDIATE,%rax, whose rest is the first instruction of the function */
	static const uint8_t data[] = { 0x74, 0xfd, 0x48, 0xb8, 0x00 };
	struct stack_deltas deltas;
	size_t start;

	(void)state;
	start = 16 + put_function(16, 104, 20);
	start = put(start, data, sizeof(data));
	put_function(start, 104, 25);
	/* The callee is elsewhere, and may not return. */
	memcpy(code + start + 7 + 20, (uint8_t[]){ 0xe8, 0x00, 0x00, 0x00, 0x10, 0x90, 0x90 }, 7);
	assert_int_equal(analyse(&deltas), 0);
	for (size_t at = start + 7; at < start + 7 + 27; at++) {
		const struct unwind_rule *rule = stack_deltas_lookup(&deltas, ADDRESS + at);

		assert_true(rule->cfa == CFA_NONE || rule->cfa_offset == 112);
	}
	stack_deltas_deinit(&deltas);
}

static void padding_has_no_rule(void **state)
{
	struct stack_deltas deltas;
	size_t last;

	(void)state;
	last = 16 + put_function(16, 104, 20);
	memset(code + last, 0x90, 600);
	put_function(last + 600, 104, 20);
	assert_int_equal(analyse(&deltas), 0);
	assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + last - 1)->cfa, CFA_SP);
	/* Padding may be part of another function, if the end in front of it is not there any more. */
	for (size_t at = last; at < last + 592; at++)
		assert_int_equal(stack_deltas_lookup(&deltas, ADDRESS + at)->cfa, CFA_NONE);
	stack_deltas_deinit(&deltas);
}

static void a_function_that_is_too_long_has_no_fingerprint(void **state)
{
	struct stack_deltas deltas;

	(void)state;
	/* In pages 1 to 64, and in pages 1 to 65. */
	for (uint32_t pages = CODE_CHECK_PAGES; pages <= CODE_CHECK_PAGES + 1; pages++) {
		put_function(256, 104, pages * 256 - 17);
		assert_int_equal(analyse(&deltas), 0);
		for (uint32_t page = 1; page <= pages; page++)
			assert_int_equal(deltas.checks[page].fingerprint != 0,
					 pages == CODE_CHECK_PAGES);
		assert_int_not_equal(deltas.checks[pages + 1].fingerprint, 0);
		stack_deltas_deinit(&deltas);
	}
}

static void only_whole_units_within_the_limit_are_copied(void **state)
{
	struct stack_deltas deltas;

	(void)state;
	assert_true(copied_code_is_range(4096, 4096));
	assert_true(copied_code_is_range(4096, COPIED_CODE_MAX_BYTES));
	assert_false(copied_code_is_range(4096, 0));
	assert_false(copied_code_is_range(4096, 4095));
	assert_false(copied_code_is_range(4096, COPIED_CODE_MAX_BYTES + 4096));
	assert_false(copied_code_is_range(100, 4096));
	assert_false(copied_code_is_range((1ULL << 48) - 4096, 8192));
	assert_false(copied_code_is_range(UINT64_MAX - 4095, 4096));
	assert_int_equal(copied_code_analyse(EM_X86_64, ADDRESS + 1, code, SIZE, &deltas), -EINVAL);
	assert_int_equal(copied_code_analyse(EM_X86_64, ADDRESS, code, SIZE - 1, &deltas), -EINVAL);
	assert_int_equal(copied_code_analyse(EM_386, ADDRESS, code, SIZE, &deltas), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_function_has_the_rules_of_its_instructions, setup),
		cmocka_unit_test_setup(what_is_not_certain_is_left_out, setup),
		cmocka_unit_test_setup(a_function_that_only_looks_called_is_not_certain, setup),
		cmocka_unit_test_setup(a_page_depends_on_all_code_of_its_functions, setup),
		cmocka_unit_test_setup(a_path_may_come_from_a_later_page, setup),
		cmocka_unit_test_setup(a_path_may_come_from_code_before_the_start, setup),
		cmocka_unit_test_setup(functions_that_share_code_depend_on_each_other, setup),
		cmocka_unit_test_setup(data_in_front_of_a_function_does_not_change_its_rules,
				       setup),
		cmocka_unit_test_setup(any_doubt_about_a_function_counts, setup),
		cmocka_unit_test_setup(padding_has_no_rule, setup),
		cmocka_unit_test_setup(a_function_that_is_too_long_has_no_fingerprint, setup),
		cmocka_unit_test_setup(only_whole_units_within_the_limit_are_copied, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
