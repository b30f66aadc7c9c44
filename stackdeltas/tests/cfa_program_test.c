/* SPDX-License-Identifier: Apache-2.0 */
/* The CFA machine, instruction by instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/eh_pointer.h"

enum { START = 0x1000, END = 0x1100 };

static struct cfa_defaults defaults_of(bool is_aarch64)
{
	return (struct cfa_defaults){
		.registers = {
			.return_address = is_aarch64 ? DWARF_ARM64_LR : DWARF_X86_RIP,
			.frame_pointer = is_aarch64 ? DWARF_ARM64_FP : DWARF_X86_RBP,
			.stack_pointer = is_aarch64 ? DWARF_ARM64_SP : DWARF_X86_RSP,
			.rbx = is_aarch64 ? CFA_NO_REGISTER : DWARF_X86_RBX,
			.is_aarch64 = is_aarch64,
		},
		.code_alignment = 1,
		.data_alignment = -8,
		.pointer_encoding = EH_POINTER_ABSOLUTE,
		.initial = {
			.cfa = { .kind = CFA_VALUE_REGISTER, .number = DWARF_X86_RSP, { 8 } },
			.return_address = { .kind = CFA_VALUE_AT_CFA, .offset = -8 },
		},
	};
}

/* A program whose bytes stay as long as the test. */
#define INIT(program, defaults, ...)                                                               \
	cfa_program_init(program, defaults, (const uint8_t[]){ __VA_ARGS__ }, 0,                   \
			 sizeof((const uint8_t[]){ __VA_ARGS__ }), START, END)

/* Runs all of it; the error or 0. */
static int run(struct cfa_program *program)
{
	int found;

	while ((found = cfa_program_next(program)) > 0)
		;
	return found;
}

static void assert_row(struct cfa_program *program, uint64_t start, int64_t cfa_offset)
{
	assert_int_equal(cfa_program_next(program), 1);
	assert_int_equal(program->row_start, start);
	assert_int_equal(program->state.cfa.kind, CFA_VALUE_REGISTER);
	assert_int_equal(program->state.cfa.offset, cfa_offset);
}

static void rows_start_where_the_location_advances(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
	     DW_CFA_advance_loc1, 2, DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc2, 3, 0,
	     DW_CFA_def_cfa_offset, 32, DW_CFA_advance_loc4, 4, 0, 0, 0, DW_CFA_def_cfa_offset, 40,
	     DW_CFA_MIPS_advance_loc8, 5, 0, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 48,
	     DW_CFA_set_loc, 0x80, 0x10, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 56);
	assert_row(&program, START, 8);
	assert_row(&program, START + 1, 16);
	assert_row(&program, START + 3, 24);
	assert_row(&program, START + 6, 32);
	assert_row(&program, START + 10, 40);
	assert_row(&program, START + 15, 48);
	assert_row(&program, START + 0x80, 56);
	assert_int_equal(cfa_program_next(&program), 0);
}

static void rows_without_length_are_left_out(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 0,
	     DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 4, DW_CFA_nop);
	assert_row(&program, START, 24);
	assert_row(&program, START + 4, 24);
	assert_int_equal(cfa_program_next(&program), 0);
}

static void rows_behind_the_function_do_not_come(void **state)
{
	struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, DW_CFA_advance_loc2, 0, 1, DW_CFA_def_cfa_offset, 16);
	assert_row(&program, START, 8);
	assert_int_equal(cfa_program_next(&program), 0);
	/* A distance that overflows is behind every function. */
	defaults.code_alignment = UINT64_MAX;
	INIT(&program, &defaults, DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 16);
	assert_row(&program, START, 8);
	assert_int_equal(cfa_program_next(&program), 0);
}

static void every_way_to_save_a_register_is_read(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;
	const struct cfa_value *fp = &program.state.frame_pointer;

	(void)state;
	INIT(&program, &defaults, DW_CFA_offset | DWARF_X86_RBP, 2);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_AT_CFA);
	assert_int_equal(fp->offset, -16);
	INIT(&program, &defaults, DW_CFA_offset_extended, DWARF_X86_RBP, 3);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->offset, -24);
	INIT(&program, &defaults, DW_CFA_offset_extended_sf, DWARF_X86_RBP, 0x7f);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->offset, 8);
	INIT(&program, &defaults, DW_CFA_GNU_negative_offset_extended, DWARF_X86_RBP, 2);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->offset, 16);
	INIT(&program, &defaults, DW_CFA_val_offset, DWARF_X86_RBP, 2);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_IS_CFA);
	assert_int_equal(fp->offset, -16);
	INIT(&program, &defaults, DW_CFA_val_offset_sf, DWARF_X86_RBP, 0x7f);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->offset, 8);
	INIT(&program, &defaults, DW_CFA_register, DWARF_X86_RBP, 3);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_REGISTER);
	assert_int_equal(fp->number, 3);
	INIT(&program, &defaults, DW_CFA_undefined, DWARF_X86_RBP);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_UNDEFINED);
	INIT(&program, &defaults, DW_CFA_same_value, DWARF_X86_RBP);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_SAME);
	INIT(&program, &defaults, DW_CFA_expression, DWARF_X86_RBP, 2, 0x76, 0);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_EXPRESSION);
	assert_int_equal(fp->expression.start, 3);
	assert_int_equal(fp->expression.bytes, 2);
	INIT(&program, &defaults, DW_CFA_val_expression, DWARF_X86_RBP, 2, 0x76, 0);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(fp->kind, CFA_VALUE_IS_EXPRESSION);
}

static void every_way_to_define_the_cfa_is_read(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;
	const struct cfa_value *cfa = &program.state.cfa;

	(void)state;
	INIT(&program, &defaults, DW_CFA_def_cfa, 10, 4);
	assert_row(&program, START, 4);
	assert_int_equal(cfa->number, 10);
	INIT(&program, &defaults, DW_CFA_def_cfa_sf, 10, 0x7e);
	assert_row(&program, START, 16);
	assert_int_equal(cfa->number, 10);
	INIT(&program, &defaults, DW_CFA_def_cfa_register, DWARF_X86_RBP);
	assert_row(&program, START, 8);
	assert_int_equal(cfa->number, DWARF_X86_RBP);
	INIT(&program, &defaults, DW_CFA_def_cfa_offset_sf, 0x7d);
	assert_row(&program, START, 24);
	assert_int_equal(cfa->number, DWARF_X86_RSP);
	INIT(&program, &defaults, DW_CFA_def_cfa_expression, 3, 0x77, 8, 6);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(cfa->kind, CFA_VALUE_EXPRESSION);
	assert_int_equal(cfa->expression.bytes, 3);
}

static void restore_goes_back_to_the_cie(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, DW_CFA_offset | DWARF_X86_RBP, 2, DW_CFA_offset | DWARF_X86_RIP,
	     5, DW_CFA_restore | DWARF_X86_RBP, DW_CFA_restore_extended, DWARF_X86_RIP);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(program.state.frame_pointer.kind, CFA_VALUE_UNSPECIFIED);
	assert_int_equal(program.state.return_address.offset, -8);
}

static void states_are_remembered_up_to_the_bound(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;
	static uint8_t bytes[2 * CFA_PROGRAM_MAX_REMEMBERED + 2];
	size_t count = CFA_PROGRAM_MAX_REMEMBERED;

	(void)state;
	INIT(&program, &defaults, DW_CFA_remember_state, DW_CFA_def_cfa, 6, 16,
	     DW_CFA_remember_state, DW_CFA_def_cfa_offset, 99, DW_CFA_advance_loc | 1,
	     DW_CFA_restore_state, DW_CFA_advance_loc | 1, DW_CFA_restore_state);
	assert_row(&program, START, 99);
	assert_row(&program, START + 1, 16);
	assert_int_equal(program.state.cfa.number, DWARF_X86_RBP);
	assert_row(&program, START + 2, 8);
	assert_int_equal(program.state.cfa.number, DWARF_X86_RSP);
	memset(bytes, DW_CFA_remember_state, count);
	memset(bytes + count, DW_CFA_restore_state, count + 1);
	cfa_program_init(&program, &defaults, bytes, 0, 2 * count, START, END);
	assert_int_equal(run(&program), 0);
	cfa_program_deinit(&program);
	cfa_program_init(&program, &defaults, bytes, 0, 2 * count + 1, START, END);
	assert_int_equal(run(&program), -EBADMSG);
	cfa_program_deinit(&program);
	memset(bytes, DW_CFA_remember_state, count + 1);
	cfa_program_init(&program, &defaults, bytes, 0, count + 1, START, END);
	assert_int_equal(run(&program), -EBADMSG);
	cfa_program_deinit(&program);
}

/* Each of 100 levels has an offset of its own, which comes back in the other order. */
static void deep_states_come_back_in_order(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	enum { DEPTH = 100 };
	uint8_t bytes[DEPTH * 5];
	struct cfa_program program;
	size_t size = 0;

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		const uint8_t step[] = { DW_CFA_def_cfa_offset, i, DW_CFA_remember_state };

		memcpy(bytes + size, step, sizeof(step));
		size += sizeof(step);
	}
	for (int i = 0; i < DEPTH; i++) {
		bytes[size++] = DW_CFA_restore_state;
		bytes[size++] = DW_CFA_advance_loc | 1;
	}
	cfa_program_init(&program, &defaults, bytes, 0, size, START, END);
	for (int i = 0; i < DEPTH; i++)
		assert_row(&program, START + i, DEPTH - 1 - i);
	cfa_program_deinit(&program);
}

static void a_register_after_an_expression_takes_the_last_offset(void **state)
{
	const struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, DW_CFA_def_cfa, 0, 56, DW_CFA_advance_loc | 1,
	     DW_CFA_def_cfa_expression, 1, 0x30, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_register,
	     DWARF_X86_RSP);
	assert_row(&program, START, 56);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(program.state.cfa.kind, CFA_VALUE_EXPRESSION);
	assert_row(&program, START + 2, 56);
	assert_int_equal(program.state.cfa.number, DWARF_X86_RSP);
}

static void what_makes_no_sense_is_malformed(void **state)
{
	struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, 0x17, 0);
	assert_int_equal(run(&program), -EBADMSG);
	INIT(&program, &defaults, DW_CFA_AARCH64_negate_ra_state);
	assert_int_equal(run(&program), -EBADMSG);
	INIT(&program, &defaults, DW_CFA_advance_loc2, 1);
	assert_int_equal(run(&program), -EBADMSG);
	INIT(&program, &defaults, DW_CFA_expression, 6, 200, 1);
	assert_int_equal(run(&program), -EBADMSG);
	INIT(&program, &defaults, DW_CFA_set_loc, 0xff, 0x0f, 0, 0, 0, 0, 0, 0);
	assert_int_equal(run(&program), -EBADMSG);
	INIT(&program, &defaults, DW_CFA_def_cfa_expression, 1, 0x30, DW_CFA_def_cfa_offset, 8);
	assert_int_equal(run(&program), -EBADMSG);
}

static void offsets_that_overflow_are_out_of_range(void **state)
{
	struct cfa_defaults defaults = defaults_of(false);
	struct cfa_program program;

	(void)state;
	defaults.data_alignment = INT64_MIN;
	INIT(&program, &defaults, DW_CFA_offset | DWARF_X86_RBP, 2, DW_CFA_def_cfa_sf, 7, 2);
	assert_int_equal(cfa_program_next(&program), 1);
	assert_int_equal(program.state.frame_pointer.kind, CFA_VALUE_OUT_OF_RANGE);
	assert_int_equal(program.state.cfa.kind, CFA_VALUE_OUT_OF_RANGE);
}

static void arm64_signs_return_addresses_without_a_new_rule(void **state)
{
	const struct cfa_defaults defaults = defaults_of(true);
	struct cfa_program program;

	(void)state;
	INIT(&program, &defaults, DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 1,
	     DW_CFA_AARCH64_negate_ra_state_with_pc, DW_CFA_GNU_args_size, 16);
	assert_int_equal(run(&program), 0);
}

static void initial_instructions_may_not_advance(void **state)
{
	static const uint8_t good[] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1 };
	static const uint8_t bad[] = { DW_CFA_advance_loc | 1, DW_CFA_nop };
	struct cfa_defaults defaults = defaults_of(false);

	(void)state;
	memset(&defaults.initial, 0xff, sizeof(defaults.initial));
	assert_int_equal(cfa_program_run_initial(good, 0, sizeof(good), &defaults), 0);
	assert_int_equal(defaults.initial.cfa.offset, 8);
	assert_int_equal(defaults.initial.return_address.offset, -8);
	assert_int_equal(defaults.initial.frame_pointer.kind, CFA_VALUE_UNSPECIFIED);
	assert_int_equal(cfa_program_run_initial(bad, 0, sizeof(bad), &defaults), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_start_where_the_location_advances),
		cmocka_unit_test(rows_without_length_are_left_out),
		cmocka_unit_test(rows_behind_the_function_do_not_come),
		cmocka_unit_test(every_way_to_save_a_register_is_read),
		cmocka_unit_test(every_way_to_define_the_cfa_is_read),
		cmocka_unit_test(restore_goes_back_to_the_cie),
		cmocka_unit_test(states_are_remembered_up_to_the_bound),
		cmocka_unit_test(deep_states_come_back_in_order),
		cmocka_unit_test(a_register_after_an_expression_takes_the_last_offset),
		cmocka_unit_test(what_makes_no_sense_is_malformed),
		cmocka_unit_test(offsets_that_overflow_are_out_of_range),
		cmocka_unit_test(arm64_signs_return_addresses_without_a_new_rule),
		cmocka_unit_test(initial_instructions_may_not_advance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
