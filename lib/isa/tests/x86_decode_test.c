/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes are from GNU as, and the texts beside them from objdump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/isa/x86_decode.h"
#include "lib/isa/x86_opcode.h"

#define DECODE(...)                                                                                \
	decode((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static struct x86_instruction decode(const uint8_t *bytes, size_t size)
{
	struct x86_instruction instruction;

	assert_true(x86_decode(bytes, size, &instruction));
	assert_int_equal(instruction.length, size);
	return instruction;
}

static void expect(struct x86_instruction instruction, enum x86_kind kind, uint8_t reg,
		   uint8_t base, int64_t displacement)
{
	assert_int_equal(instruction.kind, kind);
	assert_int_equal(instruction.reg, reg);
	assert_int_equal(instruction.base, base);
	assert_int_equal(instruction.displacement, displacement);
}

static void expect_kind(struct x86_instruction instruction, enum x86_kind kind,
			int64_t displacement)
{
	assert_int_equal(instruction.kind, kind);
	assert_int_equal(instruction.displacement, displacement);
}

static void registers_are_pushed_and_popped(void **state)
{
	(void)state;
	/* push %rbp; push %r12; pop %r15; leave */
	expect(DECODE(0x55), X86_PUSH, X86_RBP, X86_NO_REGISTER, 0);
	expect(DECODE(0x41, 0x54), X86_PUSH, X86_R12, X86_NO_REGISTER, 0);
	expect(DECODE(0x41, 0x5f), X86_POP, 15, X86_NO_REGISTER, 0);
	assert_int_equal(DECODE(0xc9).kind, X86_LEAVE);
}

static void whole_registers_are_moved_loaded_and_stored(void **state)
{
	(void)state;
	/* mov %rsp,%rbp; mov 0x18(%rdi),%rax; mov %rbx,-0x8(%rbp) */
	expect(DECODE(0x48, 0x89, 0xe5), X86_MOVE, X86_RBP, X86_RSP, 0);
	expect(DECODE(0x48, 0x8b, 0x47, 0x18), X86_LOAD, X86_RAX, X86_RDI, 0x18);
	expect(DECODE(0x48, 0x89, 0x5d, 0xf8), X86_STORE, X86_RBX, X86_RBP, -8);
}

static void memory_by_the_pc_or_an_index_has_no_base(void **state)
{
	(void)state;
	/* mov 0x1234(%rip),%rax; mov (%rax,%rcx,8),%rdx */
	expect(DECODE(0x48, 0x8b, 0x05, 0x34, 0x12, 0x00, 0x00), X86_LOAD, X86_RAX, X86_NO_REGISTER,
	       0x1234);
	expect(DECODE(0x48, 0x8b, 0x14, 0xc8), X86_LOAD, X86_RDX, X86_NO_REGISTER, 0);
}

static void sums_and_masks_have_an_immediate(void **state)
{
	(void)state;
	/* lea 0x10(%rsp),%r8; add $0x8,%rsp; sub $0x1000,%rsp; and $0xfffffffffffffff0,%rsp */
	expect(DECODE(0x4c, 0x8d, 0x44, 0x24, 0x10), X86_ADD, 8, X86_RSP, 0x10);
	expect(DECODE(0x48, 0x83, 0xc4, 0x08), X86_ADD, X86_RSP, X86_RSP, 8);
	expect(DECODE(0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00), X86_ADD, X86_RSP, X86_RSP,
	       -0x1000);
	expect(DECODE(0x48, 0x83, 0xe4, 0xf0), X86_AND, X86_RSP, X86_NO_REGISTER, -16);
}

static void a_comparison_names_both_registers_and_writes_none(void **state)
{
	struct x86_instruction compare = DECODE(0x49, 0x39, 0xe2); /* cmp %rsp,%r10 */

	(void)state;
	expect(compare, X86_COMPARE, X86_RSP, 10, 0);
	assert_int_equal(compare.writes, 0);
}

static void branches_have_a_distance(void **state)
{
	(void)state;
	/* call .+0x100; jmp .-2; jne .+0x80; je .+0x300 */
	expect_kind(DECODE(0xe8, 0xfb, 0x00, 0x00, 0x00), X86_CALL, 0xfb);
	expect_kind(DECODE(0xeb, 0xfc), X86_JUMP, -4);
	expect_kind(DECODE(0x75, 0x7e), X86_BRANCH, 0x7e);
	assert_true(DECODE(0x75, 0x7e).is_not_equal);
	expect_kind(DECODE(0x0f, 0x84, 0xfa, 0x02, 0x00, 0x00), X86_BRANCH, 0x2fa);
	assert_false(DECODE(0x0f, 0x84, 0xfa, 0x02, 0x00, 0x00).is_not_equal);
	/* call *%rax; jmp *0x10(%rax) */
	assert_int_equal(DECODE(0xff, 0xd0).kind, X86_CALL_INDIRECT);
	assert_int_equal(DECODE(0xff, 0x60, 0x10).kind, X86_JUMP_INDIRECT);
}

static void returns_say_what_they_drop(void **state)
{
	(void)state;
	expect_kind(DECODE(0xc3), X86_RETURN, 0); /* ret */
	expect_kind(DECODE(0xc2, 0x08, 0x00), X86_RETURN, 8); /* ret $0x8 */
}

static void some_end_a_path_or_do_nothing(void **state)
{
	(void)state;
	/* syscall; ud2; int3; zeroes; nopw (%rax,%rax,1); pause */
	assert_int_equal(DECODE(0x0f, 0x05).kind, X86_SYSCALL);
	assert_int_equal(DECODE(0x0f, 0x0b).kind, X86_STOP);
	assert_int_equal(DECODE(0xcc).kind, X86_STOP);
	assert_int_equal(DECODE(0x00, 0x00).kind, X86_STOP);
	/* add r15b,cl */
	assert_int_equal(DECODE(0x44, 0x00, 0xf9).kind, X86_OTHER);
	assert_int_equal(DECODE(0x66, 0x0f, 0x1f, 0x04, 0x00).kind, X86_NOP);
	assert_int_equal(DECODE(0xf3, 0x90).kind, X86_OTHER);
}

static void others_tell_which_registers_they_write(void **state)
{
	enum { RAX = 1, RCX = 2, RDX = 4, RBX = 8 };

	(void)state;
	/* mov %eax,%ecx; mul %rcx; cpuid; movzbl (%rdi),%eax; mulx %rax,%rbx,%rcx */
	assert_int_equal(DECODE(0x89, 0xc1).writes, RCX);
	assert_int_equal(DECODE(0x48, 0xf7, 0xe1).writes, RAX | RDX);
	/* The registers of string instructions count, too, although cpuid leaves them. */
	assert_int_equal(DECODE(0x0f, 0xa2).writes & (RAX | RCX | RDX | RBX),
			 RAX | RCX | RDX | RBX);
	assert_int_equal(DECODE(0x0f, 0xb6, 0x07).writes, RAX);
	assert_int_equal(DECODE(0xc4, 0xe2, 0xe3, 0xf6, 0xc8).writes, RCX | RBX);
	/* vpxor %xmm0,%xmm0,%xmm0; vmovdqu64 %zmm0,(%rdi) */
	assert_int_equal(DECODE(0xc5, 0xf9, 0xef, 0xc0).writes, 0);
	assert_int_equal(DECODE(0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07).writes, 0);
	/* movabs $0x1122334455667788,%rax */
	assert_int_equal(DECODE(0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11).writes,
			 RAX);
}

static void an_instruction_that_is_cut_or_not_valid_is_refused(void **state)
{
	static const uint8_t call[] = { 0xe8, 0xfb, 0x00, 0x00, 0x00 }, push_es[] = { 0x06 };
	struct x86_instruction instruction;

	(void)state;
	for (size_t size = 0; size < sizeof(call); size++)
		assert_false(x86_decode(call, size, &instruction));
	assert_false(x86_decode(push_es, sizeof(push_es), &instruction));
}

static struct x86_operands operands_of(const uint8_t *bytes, size_t size)
{
	struct x86_operands operands;

	assert_true(x86_decode_operands(bytes, size, &operands));
	assert_int_equal(operands.length, size);
	return operands;
}

#define OPERANDS(...)                                                                              \
	operands_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void operands_in_memory_have_base_index_and_scale(void **state)
{
	struct x86_operands operands;

	(void)state;
	/* mov 0x10(%r12,%r9,8),%rax */
	operands = OPERANDS(0x4b, 0x8b, 0x44, 0xcc, 0x10);
	assert_true(operands.is_memory && operands.has_rex && !operands.is_pc_relative);
	assert_int_equal(operands.map, MAP_ONE_BYTE);
	assert_int_equal(operands.opcode, 0x8b);
	assert_int_equal(operands.bytes, 8);
	assert_int_equal(operands.reg, X86_RAX);
	assert_int_equal(operands.base, X86_R12);
	assert_int_equal(operands.index, 9);
	assert_int_equal(operands.scale, 3);
	assert_int_equal(operands.displacement, 0x10);
	/* cmpl $-1,0x8(%rsp) */
	operands = OPERANDS(0x83, 0x7c, 0x24, 0x08, 0xff);
	assert_int_equal(operands.base, X86_RSP);
	assert_int_equal(operands.index, X86_NO_REGISTER);
	assert_int_equal(operands.reg, 7);
	assert_int_equal(operands.bytes, 4);
	assert_int_equal(operands.immediate, -1);
	/* mov %fs:0x0,%rax: absolute */
	operands = OPERANDS(0x64, 0x48, 0x8b, 0x04, 0x25, 0x00, 0x00, 0x00, 0x00);
	assert_true(operands.is_of_fs && operands.is_memory && !operands.is_pc_relative);
	assert_int_equal(operands.base, X86_NO_REGISTER);
	/* movw $0x1234,0x100(%rip) */
	operands = OPERANDS(0x66, 0xc7, 0x05, 0x00, 0x01, 0x00, 0x00, 0x34, 0x12);
	assert_true(operands.is_pc_relative && operands.has_66);
	assert_int_equal(operands.bytes, 2);
	assert_int_equal(operands.displacement, 0x100);
	assert_int_equal(operands.immediate, 0x1234);
}

static void operands_in_registers_have_numbers(void **state)
{
	struct x86_operands operands;

	(void)state;
	/* movzbl %r8b,%r15d */
	operands = OPERANDS(0x45, 0x0f, 0xb6, 0xf8);
	assert_false(operands.is_memory);
	assert_int_equal(operands.map, MAP_0F);
	assert_int_equal(operands.reg, X86_R15);
	assert_int_equal(operands.rm, 8);
	/* push %r12 */
	operands = OPERANDS(0x41, 0x54);
	assert_int_equal(operands.low, X86_R12);
	/* vmovdqu %ymm0,(%rdi) */
	operands = OPERANDS(0xc5, 0xfe, 0x7f, 0x07);
	assert_true(operands.is_vector && operands.is_memory);
	assert_int_equal(operands.repeat, 0xf3);
	assert_int_equal(operands.base, X86_RDI);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_pushed_and_popped),
		cmocka_unit_test(whole_registers_are_moved_loaded_and_stored),
		cmocka_unit_test(memory_by_the_pc_or_an_index_has_no_base),
		cmocka_unit_test(sums_and_masks_have_an_immediate),
		cmocka_unit_test(a_comparison_names_both_registers_and_writes_none),
		cmocka_unit_test(branches_have_a_distance),
		cmocka_unit_test(returns_say_what_they_drop),
		cmocka_unit_test(some_end_a_path_or_do_nothing),
		cmocka_unit_test(others_tell_which_registers_they_write),
		cmocka_unit_test(operands_in_memory_have_base_index_and_scale),
		cmocka_unit_test(operands_in_registers_have_numbers),
		cmocka_unit_test(an_instruction_that_is_cut_or_not_valid_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
