/* SPDX-License-Identifier: Apache-2.0 */
/* Words are from aarch64-linux-gnu-as, and the texts beside them from its objdump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/isa/arm64_decode.h"

enum { ADDRESS = 0x10abc, SP_BIT = 31 };

static struct arm64_instruction decode(uint32_t word)
{
	struct arm64_instruction instruction;

	arm64_decode(word, ADDRESS, &instruction);
	return instruction;
}

static void expect_write(uint32_t word, enum arm64_operation operation, uint32_t writes)
{
	struct arm64_instruction instruction = decode(word);

	assert_int_equal(instruction.operation, operation);
	assert_int_equal(instruction.writes, writes);
}

static void expect_target(uint32_t word, enum arm64_operation operation, int64_t distance)
{
	struct arm64_instruction instruction = decode(word);

	assert_int_equal(instruction.operation, operation);
	assert_int_equal(instruction.target, ADDRESS + distance);
}

static void addresses_are_relative_to_the_instruction_or_its_page(void **state)
{
	struct arm64_instruction instruction;

	(void)state;
	expect_target(0x100020c3, ARM64_ADR, 0x418); /* adr x3, .+0x418 */
	expect_target(0x30fffe60, ARM64_ADR, -51); /* adr x0, .-51 */
	expect_write(0x100020c3, ARM64_ADR, 1 << 3);
	instruction = decode(0xf0fffff4); /* adrp x20, the page before */
	assert_int_equal(instruction.operation, ARM64_ADRP);
	assert_int_equal(instruction.rd, 20);
	assert_int_equal(instruction.target, 0xf000);
	assert_int_equal(decode(0xb0000014).target, 0x11000); /* adrp x20, the next page */
}

static void sums_have_an_immediate_that_may_be_shifted(void **state)
{
	struct arm64_instruction add = decode(0x910043fd); /* add x29, sp, #0x10 */
	struct arm64_instruction large = decode(0x91400fff); /* add sp, sp, #0x3, lsl #12 */
	struct arm64_instruction subtract = decode(0xd10103ff); /* sub sp, sp, #0x40 */

	(void)state;
	assert_int_equal(add.operation, ARM64_ADD);
	assert_int_equal(add.operand, ARM64_IMMEDIATE);
	assert_int_equal(add.bytes, 8);
	assert_int_equal(add.rd, ARM64_FP);
	assert_int_equal(add.rn, ARM64_SP);
	assert_int_equal(add.immediate, 0x10);
	assert_int_equal(add.writes, 1 << 29);
	assert_int_equal(large.immediate, 0x3000);
	assert_int_equal(large.writes, 1U << SP_BIT);
	assert_int_equal(subtract.operation, ARM64_SUBTRACT);
	assert_int_equal(subtract.immediate, 0x40);
	assert_int_equal(subtract.writes, 1U << SP_BIT);
}

static void sums_that_set_flags_have_the_zero_register(void **state)
{
	struct arm64_instruction narrow = decode(0x71001441); /* subs w1, w2, #0x5 */
	struct arm64_instruction compare = decode(0xf100001f); /* cmp x0, #0x0 */

	(void)state;
	assert_int_equal(narrow.operation, ARM64_SUBTRACT);
	assert_int_equal(narrow.bytes, 4);
	assert_true(narrow.sets_flags);
	assert_int_equal(narrow.writes, 1 << 1);
	assert_int_equal(compare.operation, ARM64_SUBTRACT);
	assert_true(compare.sets_flags);
	assert_int_equal(compare.writes, 0);
	/* adds xzr, sp, x3: extended */
	assert_int_equal(decode(0xab2363ff).writes, 0);
}

static void registers_are_shifted_or_extended(void **state)
{
	struct arm64_instruction shifted = decode(0x4b831441); /* sub w1, w2, w3, asr #5 */
	struct arm64_instruction extended = decode(0x8b21cbe0); /* add x0, sp, w1, sxtw #2 */

	(void)state;
	assert_int_equal(shifted.operation, ARM64_SUBTRACT);
	assert_int_equal(shifted.operand, ARM64_SHIFTED);
	assert_int_equal(shifted.bytes, 4);
	assert_int_equal(shifted.rm, 3);
	assert_int_equal(shifted.shift_kind, ARM64_ASR);
	assert_int_equal(shifted.shift, 5);
	assert_int_equal(extended.operation, ARM64_ADD);
	assert_int_equal(extended.operand, ARM64_EXTENDED);
	assert_int_equal(extended.rn, ARM64_SP);
	assert_int_equal(extended.rm, 1);
	assert_int_equal(extended.extend, 6);
	assert_int_equal(extended.shift, 2);
	expect_write(0xcb3063ff, ARM64_SUBTRACT, 1U << SP_BIT); /* sub sp, sp, x16 */
}

static void bits_are_combined_with_runs_of_ones(void **state)
{
	struct arm64_instruction align = decode(0x927cefbf); /* and sp, x29, #0xfffffffffffffff0 */
	struct arm64_instruction number = decode(0xb27c1be9); /* orr x9, xzr, #0x7f0 */
	struct arm64_instruction flags = decode(0x72089c83); /* ands w3, w4, #0xff00ff00 */

	(void)state;
	assert_int_equal(align.operation, ARM64_AND);
	assert_int_equal(align.immediate, -16);
	assert_int_equal(align.writes, 1U << SP_BIT);
	assert_int_equal(number.operation, ARM64_OR);
	assert_int_equal(number.rn, ARM64_ZERO);
	assert_int_equal(number.immediate, 0x7f0);
	assert_int_equal(flags.operation, ARM64_AND);
	assert_true(flags.sets_flags);
	assert_int_equal(flags.immediate, 0xff00ff00);
	assert_int_equal(flags.writes, 1 << 3);
	expect_write(0xf24000bf, ARM64_AND, 0); /* tst x5, #0x1 */
	assert_int_equal(decode(0xd200f021).operation, ARM64_XOR);
	/* eor x1, x1, #0x5555555555555555 */
	assert_int_equal(decode(0xd200f021).immediate, 0x5555555555555555);
	/* A reserved immediate: .inst 0x1200fc00 ; undefined */
	expect_write(0x1200fc00, ARM64_DATA, 1 << 0);
}

static void a_move_of_a_register_is_an_or_with_zero(void **state)
{
	struct arm64_instruction move = decode(0xaa1303fd); /* mov x29, x19 */

	(void)state;
	assert_int_equal(move.operation, ARM64_OR);
	assert_int_equal(move.operand, ARM64_SHIFTED);
	assert_int_equal(move.rd, ARM64_FP);
	assert_int_equal(move.rn, ARM64_ZERO);
	assert_int_equal(move.rm, 19);
	assert_int_equal(move.shift, 0);
	assert_int_equal(decode(0x2ac31c41).shift_kind, ARM64_ROR); /* orr w1, w2, w3, ror #7 */
	/* bic x1, x2, x3: with the other's complement */
	expect_write(0x8a230041, ARM64_DATA, 1 << 1);
}

static void numbers_come_in_parts_of_16_bits(void **state)
{
	struct arm64_instruction zeroes = decode(0xd2a24689); /* mov x9, #0x12340000 */
	struct arm64_instruction ones = decode(0x92a00029); /* mov x9, #0xfffffffffffeffff */
	struct arm64_instruction part = decode(0xf2cacf09); /* movk x9, #0x5678, lsl #32 */

	(void)state;
	assert_int_equal(zeroes.operation, ARM64_MOVZ);
	assert_int_equal(zeroes.rd, 9);
	assert_int_equal(zeroes.immediate, 0x12340000);
	assert_int_equal(ones.operation, ARM64_MOVN);
	assert_int_equal(~ones.immediate, (int64_t)0xfffffffffffeffff);
	assert_int_equal(part.operation, ARM64_MOVK);
	assert_int_equal(part.immediate, 0x567800000000);
	assert_int_equal(part.shift, 32);
	assert_int_equal(part.writes, 1 << 9);
}

static void fields_of_bits_have_a_turn_and_a_last_bit(void **state)
{
	struct arm64_instruction field = decode(0xd3482c41); /* ubfx x1, x2, #8, #4 */
	struct arm64_instruction shift = decode(0x531d7083); /* lsl w3, w4, #3 */

	(void)state;
	assert_int_equal(field.operation, ARM64_UBFM);
	assert_int_equal(field.shift, 8);
	assert_int_equal(field.immediate, 11);
	assert_int_equal(shift.operation, ARM64_UBFM);
	assert_int_equal(shift.bytes, 4);
	assert_int_equal(shift.shift, 29);
	assert_int_equal(shift.immediate, 28);
}

static void other_calculations_write_their_register(void **state)
{
	(void)state;
	expect_write(0x9343fc41, ARM64_DATA, 1 << 1); /* asr x1, x2, #3 */
	expect_write(0x93c31041, ARM64_DATA, 1 << 1); /* extr x1, x2, x3, #4 */
	expect_write(0x9b031041, ARM64_DATA, 1 << 1); /* madd x1, x2, x3, x4 */
	expect_write(0x9a831041, ARM64_DATA, 1 << 1); /* csel x1, x2, x3, ne */
}

static void expect_access(uint32_t word, enum arm64_operation operation, enum arm64_mode mode,
			  uint8_t bytes, uint8_t rd, uint8_t rn, int64_t immediate, uint32_t writes)
{
	struct arm64_instruction instruction = decode(word);

	assert_int_equal(instruction.operation, operation);
	assert_int_equal(instruction.mode, mode);
	assert_int_equal(instruction.bytes, bytes);
	assert_int_equal(instruction.rd, rd);
	assert_int_equal(instruction.rn, rn);
	assert_int_equal(instruction.immediate, immediate);
	assert_int_equal(instruction.writes, writes);
}

static void offsets_of_single_accesses_are_scaled_or_signed(void **state)
{
	(void)state;
	/* ldr x0, [x28, #1000] */
	expect_access(0xf941f780, ARM64_LOAD, ARM64_OFFSET, 8, 0, 28, 1000, 1 << 0);
	/* ldrb w5, [x6, #3] */
	expect_access(0x39400cc5, ARM64_LOAD, ARM64_OFFSET, 1, 5, 6, 3, 1 << 5);
	/* str w7, [sp, #12] */
	expect_access(0xb9000fe7, ARM64_STORE, ARM64_OFFSET, 4, 7, ARM64_SP, 12, 0);
	/* stur x0, [x29, #-8] */
	expect_access(0xf81f83a0, ARM64_STORE, ARM64_OFFSET, 8, 0, ARM64_FP, -8, 0);
	/* ldrsw x0, [x1, #8] */
	expect_access(0xb9800820, ARM64_LOAD, ARM64_OFFSET, 4, 0, 1, 8, 1 << 0);
	assert_true(decode(0xb9800820).is_signed);
	assert_false(decode(0xf941f780).is_signed);
	/* ldr q8, [sp, #32] */
	expect_access(0x3dc00be8, ARM64_LOAD, ARM64_OFFSET, 16, 8, ARM64_SP, 32, 0);
	assert_true(decode(0x3dc00be8).is_vector);
}

static void single_accesses_may_change_their_base(void **state)
{
	(void)state;
	/* ldr x30, [sp], #32 */
	expect_access(0xf84207fe, ARM64_LOAD, ARM64_POST_INDEX, 8, ARM64_LR, ARM64_SP, 32,
		      1U << SP_BIT | 1 << 30);
	/* str x19, [sp, #-48]! */
	expect_access(0xf81d0ff3, ARM64_STORE, ARM64_PRE_INDEX, 8, 19, ARM64_SP, -48, 1U << SP_BIT);
	/* str d9, [x1], #-8 */
	expect_access(0xfc1f8429, ARM64_STORE, ARM64_POST_INDEX, 8, 9, 1, -8, 1 << 1);
}

static void an_index_is_extended_and_scaled(void **state)
{
	struct arm64_instruction scaled = decode(0xf8637841); /* ldr x1, [x2, x3, lsl #3] */
	struct arm64_instruction narrow = decode(0x7863d841); /* ldrh w1, [x2, w3, sxtw #1] */
	struct arm64_instruction vector = decode(0x3ce37be1); /* ldr q1, [sp, x3, lsl #4] */
	struct arm64_instruction plain = decode(0xf83468a0); /* str x0, [x5, x20] */

	(void)state;
	assert_int_equal(scaled.operation, ARM64_LOAD);
	assert_int_equal(scaled.mode, ARM64_INDEX);
	assert_int_equal(scaled.rn, 2);
	assert_int_equal(scaled.rm, 3);
	assert_int_equal(scaled.extend, 3);
	assert_int_equal(scaled.shift, 3);
	assert_int_equal(scaled.writes, 1 << 1);
	assert_int_equal(narrow.bytes, 2);
	assert_int_equal(narrow.extend, 6);
	assert_int_equal(narrow.shift, 1);
	assert_int_equal(vector.bytes, 16);
	assert_int_equal(vector.shift, 4);
	assert_int_equal(vector.writes, 0);
	assert_int_equal(plain.operation, ARM64_STORE);
	assert_int_equal(plain.shift, 0);
	assert_int_equal(plain.writes, 0);
}

static void a_prefetch_writes_nothing(void **state)
{
	(void)state;
	expect_write(0xf9802020, ARM64_PREFETCH, 0); /* prfm pldl1keep, [x1, #64] */
	expect_write(0xf8a26820, ARM64_PREFETCH, 0); /* prfm pldl1keep, [x1, x2] */
}

static void pairs_have_two_registers_and_a_scaled_offset(void **state)
{
	(void)state;
	/* stp x29, x30, [sp, #-32]! */
	expect_access(0xa9be7bfd, ARM64_STORE_PAIR, ARM64_PRE_INDEX, 8, ARM64_FP, ARM64_SP, -32,
		      1U << SP_BIT);
	assert_int_equal(decode(0xa9be7bfd).second, ARM64_LR);
	/* ldp x29, x30, [sp], #32 */
	expect_access(0xa8c27bfd, ARM64_LOAD_PAIR, ARM64_POST_INDEX, 8, ARM64_FP, ARM64_SP, 32,
		      1U << SP_BIT | 1 << 30 | 1 << 29);
	/* ldp w1, w2, [x3, #-4] */
	expect_access(0x297f8861, ARM64_LOAD_PAIR, ARM64_OFFSET, 4, 1, 3, -4, 1 << 1 | 1 << 2);
	/* ldpsw x1, x2, [x3, #8] */
	expect_access(0x69410861, ARM64_LOAD_PAIR, ARM64_OFFSET, 4, 1, 3, 8, 1 << 1 | 1 << 2);
	assert_true(decode(0x69410861).is_signed);
	/* stp d8, d9, [sp, #-64]! */
	expect_access(0x6dbc27e8, ARM64_STORE_PAIR, ARM64_PRE_INDEX, 8, 8, ARM64_SP, -64,
		      1U << SP_BIT);
	/* ldp q0, q1, [x1, #32] */
	expect_access(0xad410420, ARM64_LOAD_PAIR, ARM64_OFFSET, 16, 0, 1, 32, 0);
	/* ldnp x1, x2, [x3, #16] */
	expect_access(0xa8410861, ARM64_LOAD_PAIR, ARM64_OFFSET, 8, 1, 3, 16, 1 << 1 | 1 << 2);
}

static void other_accesses_tell_only_the_registers_that_they_write(void **state)
{
	(void)state;
	expect_write(0x58000201, ARM64_OTHER, 1 << 1); /* ldr x1, .+0x40 */
	expect_write(0xc85ffc41, ARM64_OTHER, 1U << 1); /* ldaxr x1, [x2] */
	expect_write(0xc803fc41, ARM64_OTHER, 1 << 3 | 1 << 1); /* stlxr w3, x1, [x2] */
	expect_write(0xc87f0861, ARM64_OTHER, 1 << 1 | 1 << 2); /* ldxp x1, x2, [x3] */
	expect_write(0xf8210062, ARM64_OTHER, 1 << 2); /* ldadd x1, x2, [x3] */
	expect_write(0x4cdf7020, ARM64_OTHER, 1 << 1); /* ld1 {v0.16b}, [x1], #16 */
	expect_write(0x4c407020, ARM64_OTHER, 0); /* ld1 {v0.16b}, [x1] */
}

static void a_vector_that_is_a_literal_has_no_base(void **state)
{
	(void)state;
	expect_write(0x5cffffa0, ARM64_OTHER, 0); /* ldr d0, .-12 */
}

static void vectors_may_write_a_general_register(void **state)
{
	(void)state;
	expect_write(0x9e660024, ARM64_OTHER, 1 << 4); /* fmov x4, d1 */
	expect_write(0x1e622820, ARM64_OTHER, 0); /* fadd d0, d1, d2 */
	expect_write(0x0e143c24, ARM64_OTHER, 1 << 4); /* mov w4, v1.s[2] */
	expect_write(0x043f57df, ARM64_OTHER, 1U << SP_BIT); /* addvl sp, sp, #-2 */
	expect_write(0x04e0e3e6, ARM64_OTHER, 1 << 6); /* cntd x6 */
}

static void direct_branches_have_a_target(void **state)
{
	(void)state;
	expect_target(0x17ffffff, ARM64_JUMP, -4); /* b .-4 */
	expect_target(0x94040000, ARM64_CALL, 0x100000); /* bl .+0x100000 */
	expect_target(0x54000101, ARM64_BRANCH, 32); /* b.ne .+32 */
	assert_int_equal(decode(0x54000101).condition, 1);
	assert_int_equal(decode(0x5400002e).condition, 14); /* b.al .+4 */
	expect_target(0x34fffe01, ARM64_BRANCH_ZERO, -64); /* cbz w1, .-64 */
	assert_int_equal(decode(0x34fffe01).bytes, 4);
	assert_false(decode(0x34fffe01).is_opposite);
	expect_target(0xb5000202, ARM64_BRANCH_ZERO, 64); /* cbnz x2, .+64 */
	assert_int_equal(decode(0xb5000202).bytes, 8);
	assert_true(decode(0xb5000202).is_opposite);
	expect_target(0x36280023, ARM64_BRANCH_BIT, 4); /* tbz w3, #5, .+4 */
	assert_int_equal(decode(0x36280023).immediate, 5);
	expect_target(0xb7440004, ARM64_BRANCH_BIT, -32768); /* tbnz x4, #40, .-32768 */
	assert_int_equal(decode(0xb7440004).immediate, 40);
	assert_true(decode(0xb7440004).is_opposite);
}

static void branches_to_a_register_may_check_a_signature(void **state)
{
	(void)state;
	assert_int_equal(decode(0xd61f0220).operation, ARM64_JUMP_REGISTER); /* br x17 */
	assert_int_equal(decode(0xd61f0220).rn, 17);
	assert_false(decode(0xd61f0220).is_authenticated);
	assert_int_equal(decode(0xd63f0100).operation, ARM64_CALL_REGISTER); /* blr x8 */
	assert_int_equal(decode(0xd65f03c0).operation, ARM64_RETURN); /* ret */
	assert_int_equal(decode(0xd65f03c0).rn, ARM64_LR);
	assert_int_equal(decode(0xd65f00a0).rn, 5); /* ret x5 */
	assert_int_equal(decode(0xd65f0bff).operation, ARM64_RETURN); /* retaa */
	assert_int_equal(decode(0xd65f0bff).rn, ARM64_LR);
	assert_true(decode(0xd65f0bff).is_authenticated);
	assert_int_equal(decode(0xd71f0822).operation, ARM64_JUMP_REGISTER); /* braa x1, x2 */
	assert_true(decode(0xd71f0822).is_authenticated);
}

static void exceptions_end_a_path_except_system_calls(void **state)
{
	(void)state;
	expect_write(0xd4000001, ARM64_SYSCALL, 0); /* svc #0x0 */
	expect_write(0xd4200020, ARM64_STOP, 0); /* brk #0x1 */
	expect_write(0xd4400040, ARM64_STOP, 0); /* hlt #0x2 */
	expect_write(0xd69f03e0, ARM64_STOP, 0); /* eret */
	expect_write(0x00000000, ARM64_STOP, 0); /* udf #0 */
	expect_write(0x02000000, ARM64_UNALLOCATED, 0); /* .inst 0x02000000 ; undefined */
}

static void system_instructions_are_hints_or_read_a_register(void **state)
{
	struct arm64_instruction thread = decode(0xd53bd043); /* mrs x3, tpidr_el0 */

	(void)state;
	expect_write(0xd503201f, ARM64_NOP, 0); /* nop */
	expect_write(0xd503245f, ARM64_HINT, 0); /* bti c */
	expect_write(0xd503233f, ARM64_HINT, 0); /* paciasp */
	expect_write(0xd5033fdf, ARM64_HINT, 0); /* isb */
	assert_int_equal(thread.operation, ARM64_READ_SYSTEM);
	assert_int_equal(thread.immediate, ARM64_TPIDR_EL0);
	assert_int_equal(thread.writes, 1 << 3);
	assert_int_not_equal(decode(0xd53b4403).immediate, ARM64_TPIDR_EL0); /* mrs x3, fpcr */
	expect_write(0xd51bd043, ARM64_SYSTEM, 0); /* msr tpidr_el0, x3 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_relative_to_the_instruction_or_its_page),
		cmocka_unit_test(sums_have_an_immediate_that_may_be_shifted),
		cmocka_unit_test(sums_that_set_flags_have_the_zero_register),
		cmocka_unit_test(registers_are_shifted_or_extended),
		cmocka_unit_test(bits_are_combined_with_runs_of_ones),
		cmocka_unit_test(a_move_of_a_register_is_an_or_with_zero),
		cmocka_unit_test(numbers_come_in_parts_of_16_bits),
		cmocka_unit_test(fields_of_bits_have_a_turn_and_a_last_bit),
		cmocka_unit_test(other_calculations_write_their_register),
		cmocka_unit_test(offsets_of_single_accesses_are_scaled_or_signed),
		cmocka_unit_test(single_accesses_may_change_their_base),
		cmocka_unit_test(an_index_is_extended_and_scaled),
		cmocka_unit_test(a_prefetch_writes_nothing),
		cmocka_unit_test(pairs_have_two_registers_and_a_scaled_offset),
		cmocka_unit_test(other_accesses_tell_only_the_registers_that_they_write),
		cmocka_unit_test(a_vector_that_is_a_literal_has_no_base),
		cmocka_unit_test(vectors_may_write_a_general_register),
		cmocka_unit_test(direct_branches_have_a_target),
		cmocka_unit_test(branches_to_a_register_may_check_a_signature),
		cmocka_unit_test(exceptions_end_a_path_except_system_calls),
		cmocka_unit_test(system_instructions_are_hints_or_read_a_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
