/* SPDX-License-Identifier: Apache-2.0 */
/* The quick way through CFA programs, beside the other one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stackdeltas/tests/plain_comparison.h"

enum { PROGRAM_COUNT = 20000, PROGRAM_BYTES = 48 };

#define ASSERT_COMPARED(expected, machine, ...)                                                    \
	do {                                                                                       \
		const uint8_t program[] = { __VA_ARGS__ };                                         \
                                                                                                   \
		assert_int_equal(compare_plain(machine, program, sizeof(program)), expected);      \
	} while (0)
#define ASSERT_PLAIN(machine, ...) ASSERT_COMPARED(COMPARISON_EQUAL, machine, __VA_ARGS__)
#define ASSERT_NOT_PLAIN(machine, ...) ASSERT_COMPARED(COMPARISON_NOT_PLAIN, machine, __VA_ARGS__)

static void what_compilers_write_is_plain(void **state)
{
	(void)state;
	/* push %rbp; mov %rsp, %rbp; push %rbx; leave; and a tail behind */
	ASSERT_PLAIN(EM_X86_64, DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset, 16,
		     DW_CFA_offset + 6, 2, DW_CFA_advance_loc + 3, DW_CFA_def_cfa_register, 6,
		     DW_CFA_advance_loc1, 4, DW_CFA_offset + 3, 3, DW_CFA_remember_state,
		     DW_CFA_advance_loc2, 0, 1, DW_CFA_def_cfa, 7, 8, DW_CFA_advance_loc + 1,
		     DW_CFA_restore_state, DW_CFA_advance_loc4, 5, 0, 0, 0, DW_CFA_restore + 3,
		     DW_CFA_restore + 6, DW_CFA_nop, DW_CFA_nop);
	/* A large frame, registers that nobody follows, and no row of no length. */
	ASSERT_PLAIN(EM_X86_64, DW_CFA_offset + 12, 2, DW_CFA_advance_loc, DW_CFA_def_cfa_offset,
		     0xb0, 0x80, 0x01, DW_CFA_advance_loc1, 0, DW_CFA_advance_loc + 9);
	/* A leaf's link register, and a signed return address. */
	ASSERT_PLAIN(EM_AARCH64, DW_CFA_advance_loc + 1, DW_CFA_AARCH64_negate_ra_state,
		     DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset, 32, DW_CFA_offset + 29, 4,
		     DW_CFA_offset + 30, 3);
	/* Register 0 and offset 0. */
	ASSERT_PLAIN(EM_AARCH64, DW_CFA_def_cfa_register, 0, DW_CFA_advance_loc + 1,
		     DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset, 0);
	/* Beyond the function's end nothing counts. */
	ASSERT_PLAIN(EM_X86_64, DW_CFA_advance_loc2, 0, 8, 0xff);
}

static void what_is_not_plain_is_left_to_the_other_way(void **state)
{
	(void)state;
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_def_cfa_expression, 1, 0x77);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_offset + 7, 2);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_offset + 6, 0);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_offset + 6, 0x80, 1);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 1);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 1);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_def_cfa_register, 0x87, 0);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_restore_state);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_remember_state, DW_CFA_remember_state,
			 DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
			 DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
			 DW_CFA_remember_state);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_AARCH64_negate_ra_state);
	ASSERT_NOT_PLAIN(EM_X86_64, 0x3f);
	/* A row with a problem that must be reported: the CFA is no register that can be known. */
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_def_cfa_register, 20, DW_CFA_advance_loc + 1);
}

static void an_instruction_that_is_cut_is_not_plain(void **state)
{
	(void)state;
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_advance_loc + 1, DW_CFA_def_cfa_offset);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_advance_loc1);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_advance_loc2, 1);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_advance_loc4, 1, 0, 0);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_offset + 3);
	ASSERT_NOT_PLAIN(EM_X86_64, DW_CFA_def_cfa, 7);
}

/* Mostly plain instructions with small operands. */
static size_t fill_randomly(uint8_t *program)
{
	static const uint8_t opcodes[] = {
		DW_CFA_advance_loc1,	 DW_CFA_advance_loc2,
		DW_CFA_def_cfa,		 DW_CFA_def_cfa_offset,
		DW_CFA_def_cfa_register, DW_CFA_remember_state,
		DW_CFA_restore_state,	 DW_CFA_nop,
	};
	size_t count = rand() % PROGRAM_BYTES;

	for (size_t i = 0; i < count; i++) {
		int choice = rand() % 8;

		if (choice < 2)
			program[i] = DW_CFA_advance_loc + rand() % 16;
		else if (choice < 4)
			program[i] = DW_CFA_offset + rand() % 17;
		else if (choice == 4)
			program[i] = DW_CFA_restore + rand() % 32;
		else if (choice == 5)
			program[i] = opcodes[rand() % sizeof(opcodes)];
		else
			program[i] = rand() % (choice == 6 ? 32 : 256);
	}
	return count;
}

static void rows_are_those_of_the_other_way(void **state)
{
	uint32_t counts[3] = { 0 };
	uint8_t program[PROGRAM_BYTES];

	(void)state;
	srand(1);
	for (int i = 0; i < PROGRAM_COUNT; i++) {
		size_t count = fill_randomly(program);

		counts[compare_plain(i % 2 ? EM_X86_64 : EM_AARCH64, program, count)]++;
	}
	assert_int_equal(counts[COMPARISON_DIFFERENT], 0);
	assert_true(counts[COMPARISON_EQUAL] > PROGRAM_COUNT / 10);
	assert_true(counts[COMPARISON_NOT_PLAIN] > PROGRAM_COUNT / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_compilers_write_is_plain),
		cmocka_unit_test(what_is_not_plain_is_left_to_the_other_way),
		cmocka_unit_test(an_instruction_that_is_cut_is_not_plain),
		cmocka_unit_test(rows_are_those_of_the_other_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
