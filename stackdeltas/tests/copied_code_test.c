/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/copied_code.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ADDRESS = 0x7f0000, SIZE = 8192 };

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

static void a_page_depends_on_the_starts_of_its_functions(void **state)
{
	struct stack_deltas deltas;

	(void)state;
	/* One that begins with the last bytes of page 1, and ends in page 4; another one is in page 5. */
	put_function(512 - 7, 104, 600);
	put_function(1280, 40, 20);
	assert_int_equal(analyse(&deltas), 0);
	/* Padding belongs to the function before it. */
	for (uint32_t page = 0; page < 6; page++)
		assert_int_equal(deltas.checks[page].pages_before,
				 page == 2 || page == 3 || page == 4 ? page - 1 : 0);
	/* Another size of the frame. */
	code[512 - 4] ^= 16;
	code[512 - 7 + 7 + 600 + 5] ^= 16;
	for (uint32_t page = 0; page < deltas.page_count; page++)
		assert_int_equal(differs(&deltas, page), page >= 1 && page <= 4);
	stack_deltas_deinit(&deltas);
}

static void a_page_with_code_before_the_start_of_its_function_has_no_fingerprint(void **state)
{
	struct stack_deltas deltas;
	/* sub $104,%rsp; call *%rdi; jmp, to code that is in an earlier page: add $104,%rsp; ret */
	static const uint8_t start[] = { 0x48, 0x83, 0xec, 0x68, 0xff, 0xd7 };
	static const uint8_t end[] = { 0x48, 0x83, 0xc4, 0x68, 0xc3 };
	int32_t distance = 100 - (1000 + (int32_t)sizeof(start) + 5);

	(void)state;
	memcpy(code + 100, end, sizeof(end));
	memcpy(code + 1000, start, sizeof(start));
	code[1000 + sizeof(start)] = 0xe9;
	memcpy(code + 1000 + sizeof(start) + 1, &distance, sizeof(distance));
	assert_int_equal(analyse(&deltas), 0);
	if (stack_deltas_lookup(&deltas, ADDRESS + 100)->cfa != CFA_NONE)
		assert_int_equal(deltas.checks[0].fingerprint, 0);
	assert_int_not_equal(deltas.checks[3].fingerprint, 0);
	stack_deltas_deinit(&deltas);
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
		cmocka_unit_test_setup(a_page_depends_on_the_starts_of_its_functions, setup),
		cmocka_unit_test_setup(
			a_page_with_code_before_the_start_of_its_function_has_no_fingerprint,
			setup),
		cmocka_unit_test_setup(only_whole_units_within_the_limit_are_copied, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
