/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_code.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BASE = 0x7f0000001000 };

/* push rbp; mov rsp,rbp; call *r10; leave; ret */
static const uint8_t stub[] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0xff, 0xd2, 0xc9, 0xc3 };

static const uint64_t starts[] = { BASE, BASE + 0x400, BASE + 0x1000 };

static uint8_t cfa_at(const struct stack_deltas *deltas, uint64_t address)
{
	const struct unwind_rule *rule = stack_deltas_lookup(deltas, address);

	assert_non_null(rule);
	assert_false(rule->flags & RULE_GUESS);
	return rule->cfa;
}

static void chunks_have_rows_and_nothing_stands_between_them(void **state)
{
	const struct runtime_code code[] = {
		{ .address = BASE,
		  .bytes = stub,
		  .size = sizeof(stub),
		  .starts = starts,
		  .start_count = 1 },
		/* Right behind it, and not looked at. */
		{ .address = BASE + sizeof(stub),
		  .bytes = stub,
		  .size = sizeof(stub),
		  .is_flat = true },
		{ .address = BASE + 0x1000,
		  .bytes = stub,
		  .size = sizeof(stub),
		  .starts = starts + 2,
		  .start_count = 1 },
	};
	struct stack_deltas deltas;

	(void)state;
	assert_int_equal(runtime_code_analyse(EM_X86_64, code, 3, &deltas), 0);
	assert_int_equal(stack_deltas_check(&deltas), 0);
	assert_int_equal(deltas.text_start, BASE);
	assert_int_equal(cfa_at(&deltas, BASE), CFA_SP);
	assert_int_equal(cfa_at(&deltas, BASE + 4), CFA_FP);
	assert_int_equal(cfa_at(&deltas, BASE + 8), CFA_SP);
	assert_int_equal(cfa_at(&deltas, BASE + 0x1004), CFA_FP);
	assert_int_equal(stack_deltas_lookup(&deltas, BASE + sizeof(stub) + 4)->cfa_offset, 8);
	assert_int_equal(cfa_at(&deltas, BASE + sizeof(stub) + 4), CFA_SP);
	assert_int_equal(cfa_at(&deltas, BASE + 2 * sizeof(stub)), CFA_NONE);
	assert_int_equal(cfa_at(&deltas, BASE + 0xfff), CFA_NONE);
	stack_deltas_deinit(&deltas);
}

static void code_that_lies_too_far_apart_is_refused(void **state)
{
	const struct runtime_code code[] = {
		{ .address = BASE, .bytes = stub, .size = sizeof(stub), .is_flat = true },
		{ .address = BASE + (8ULL << 30),
		  .bytes = stub,
		  .size = sizeof(stub),
		  .is_flat = true },
	};
	struct stack_deltas deltas = { 0 };

	(void)state;
	assert_int_equal(runtime_code_analyse(EM_X86_64, code, 2, &deltas), -E2BIG);
	assert_int_equal(runtime_code_analyse(EM_X86_64, code, 0, &deltas), -EINVAL);
}

/* As C2 has them behind its code: test r9, r9; je ahead; call; jmp back. */
static void jumps_back_are_found_from_instruction_to_instruction(void **state)
{
	static const uint8_t code[] = { 0x4d, 0x85, 0xc9, 0x74, 0x10, 0xe8, 0,	  0,
					0,    0,    0xe9, 0x00, 0xff, 0xff, 0xff, 0xcc };
	/* cbz x0, ahead; b back */
	static const uint32_t arm64[] = { 0xb4000060, 0x17ffff00 };
	const uint8_t *arm64_bytes = (const uint8_t *)arm64;
	const int64_t target = 15 - 256;

	(void)state;
	assert_int_equal(runtime_code_find_jump(EM_X86_64, code, sizeof(code), -1000, -1), target);
	assert_int_equal(runtime_code_find_jump(EM_X86_64, code, sizeof(code), target, target),
			 target);
	/* Not there, cut, and behind what nothing goes on from. */
	assert_int_equal(runtime_code_find_jump(EM_X86_64, code, sizeof(code), -1000, target - 1),
			 0);
	assert_int_equal(runtime_code_find_jump(EM_X86_64, code, sizeof(code), target + 1, -1), 0);
	assert_int_equal(runtime_code_find_jump(EM_X86_64, code, 14, -1000, -1), 0);
	assert_int_equal(runtime_code_find_jump(EM_X86_64, stub, sizeof(stub), -1000, -1), 0);
	assert_int_equal(runtime_code_find_jump(EM_AARCH64, arm64_bytes, sizeof(arm64), -2000, -1),
			 4 - 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_have_rows_and_nothing_stands_between_them),
		cmocka_unit_test(code_that_lies_too_far_apart_is_refused),
		cmocka_unit_test(jumps_back_are_found_from_instruction_to_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
