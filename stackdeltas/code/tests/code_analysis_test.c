/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from instructions, of functions written out in bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "stackdeltas/code/tests/analysed_code.h"

static void test_pushes_and_pops(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbp; push rbx; sub $8,rsp; add $8,rsp; pop rbx; pop rbp; ret */
	ANALYSE_X86(&rows, 0x55, 0x53, 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0x5b, 0x5d, 0xc3);
	expect(EM_X86_64, &rows, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 1, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 6, "cfa=sp+32 ra=cfa-8 fp=cfa-16 rbx=cfa-24");
	expect(EM_X86_64, &rows, 11, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 12, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(rows.statistics.believed_count, 1);
	assert_int_equal(rows.statistics.believed_bytes, 13);
}

static void test_frame_pointers_survive_a_stack_of_unknown_size(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbp; mov rsp,rbp; and $-32,rsp; sub rax,rsp; leave; ret */
	ANALYSE_X86(&rows, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x29, 0xc4, 0xc9,
		    0xc3);
	expect(EM_X86_64, &rows, 4, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 11, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 12, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_the_cfa_may_be_stored_in_an_aligned_frame(void **state)
{
	struct rows rows;

	(void)state;
	/* mov rsp,rax; sub $64,rsp; and $-64,rsp; mov rax,16(rsp); mov 16(rsp),rsi; lea (rsi),rsp */
	ANALYSE_X86(&rows, 0x48, 0x89, 0xe0, 0x48, 0x83, 0xec, 64, 0x48, 0x83, 0xe4, 0xc0, 0x48,
		    0x89, 0x44, 0x24, 16, 0x31, 0xc0, 0x48, 0x8b, 0x74, 0x24, 16, 0x48, 0x8d, 0x26,
		    0xc3);
	expect(EM_X86_64, &rows, 11, "cfa=r0+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 18, "cfa=*(sp+16)+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 26, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_rbx_may_be_saved_in_an_aligned_frame(void **state)
{
	struct rows rows;

	(void)state;
	/* gcc: push rbp; mov rsp,rbp; push r15; and $-32,rsp; sub $256,rsp; push rbx; xor ebx,ebx; 20: pop rbx;
	 * lea -8(rbp),rsp; pop r15; pop rbp; ret */
	ANALYSE_X86(&rows, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x81,
		    0xec, 0, 1, 0, 0, 0x53, 0x31, 0xdb, 0x5b, 0x48, 0x8d, 0x65, 0xf8, 0x41, 0x5f,
		    0x5d, 0xc3);
	expect(EM_X86_64, &rows, 18, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 20, "cfa=fp+16 ra=cfa-8 fp=cfa-16 rbx=undefined");
	expect(EM_X86_64, &rows, 21, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 28, "cfa=sp+8 ra=cfa-8 fp=same");
	/* libjpeg-turbo: push rbp; mov rsp,rax; and $-32,rsp; mov rax,(rsp); mov rsp,rbp; lea -64(rsp),rsp;
	 * push rbx; xor ebx,ebx; xor eax,eax; 25: pop rbx; mov rbp,rsp; pop rsp; pop rbp; ret */
	ANALYSE_X86(&rows, 0x55, 0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x89, 0x04, 0x24,
		    0x48, 0x89, 0xe5, 0x48, 0x8d, 0x64, 0x24, 0xc0, 0x53, 0x31, 0xdb, 0x31, 0xc0,
		    0x5b, 0x48, 0x89, 0xec, 0x5c, 0x5d, 0xc3);
	expect(EM_X86_64, &rows, 25, "cfa=*(fp+0)+16 ra=cfa-8 fp=cfa-16 rbx=undefined");
	expect(EM_X86_64, &rows, 30, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 31, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_instructions_that_only_assembly_has_are_read(void **state)
{
	struct rows rows;

	(void)state;
	/* libjpeg-turbo: push rbx; add r15b,cl; add r9b,cl; pop rbx; ret */
	ANALYSE_X86(&rows, 0x53, 0x44, 0, 0xf9, 0x44, 0, 0xc9, 0x5b, 0xc3);
	expect(EM_X86_64, &rows, 4, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	assert_int_equal(rows.statistics.believed_bytes, 9);
	/* dav1d: lea 16(rip),rdx; movslq (rdx,rcx,4),rcx; add rdx,rcx; jmp *rcx */
	ANALYSE_X86(&rows, 0x48, 0x8d, 0x15, 16, 0, 0, 0, 0x48, 0x63, 0x0c, 0x8a, 0x48, 1, 0xd1,
		    0xff, 0xe1);
	expect(EM_X86_64, &rows, 14, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(rows.statistics.believed_bytes, 16);
	/*
	 * libjpeg-turbo: push rbx; push rbp; push r12; lea -0x80(rsp),rdi; mov rsp,rbp; sub $256,rsp; and $-32,rsp;
	 * mov rbp,(rsp); mov rsp,rbp; 30: xor eax,eax; mov rbp,rsp; pop rsp; pop r12; pop rbp; pop rbx; ret
	 */
	ANALYSE_X86(&rows, 0x53, 0x55, 0x41, 0x54, 0x48, 0x8d, 0x7c, 0x24, 0x80, 0x48, 0x89, 0xe5,
		    0x48, 0x81, 0xec, 0, 1, 0, 0, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x89, 0x2c, 0x24,
		    0x48, 0x89, 0xe5, 0x31, 0xc0, 0x48, 0x89, 0xec, 0x5c, 0x41, 0x5c, 0x5d, 0x5b,
		    0xc3);
	expect(EM_X86_64, &rows, 23, "cfa=fp+32 ra=cfa-8 fp=cfa-24 rbx=cfa-16");
	expect(EM_X86_64, &rows, 30, "cfa=r5+160 ra=cfa-8 fp=cfa-24 rbx=cfa-16");
	expect(EM_X86_64, &rows, 36, "cfa=sp+32 ra=cfa-8 fp=cfa-24 rbx=cfa-16");
	expect(EM_X86_64, &rows, 39, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
}

static void test_the_register_that_leads_to_the_caller_stands_beside_others(void **state)
{
	struct rows rows;

	(void)state;
	/*
	 * sub $24,rsp; mov rbx,(rsp); mov rsp,rbx; sub $64,rsp; and $-64,rsp; lea 16(rsp),rsi;
	 * mov $24,edi; mov rbx,rsp; mov (rsp),rbx; add $24,rsp; ret
	 */
	ANALYSE_X86(&rows, 0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x1c, 0x24, 0x48, 0x89, 0xe3, 0x48,
		    0x83, 0xec, 64, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x8d, 0x74, 0x24, 16, 0xbf, 24, 0,
		    0, 0, 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x1c, 0x24, 0x48, 0x83, 0xc4, 24, 0xc3);
	expect(EM_X86_64, &rows, 19, "cfa=r3+32 ra=cfa-8 fp=same rbx=cfa-32");
	expect(EM_X86_64, &rows, 29, "cfa=r3+32 ra=cfa-8 fp=same rbx=cfa-32");
	expect(EM_X86_64, &rows, 32, "cfa=sp+32 ra=cfa-8 fp=same rbx=cfa-32");
	expect(EM_X86_64, &rows, 40, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_behind_a_change_of_stacks_the_return_is_looked_for(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbp; push rbx; mov rsp,(rdi); mov (rsi),rsp; pop rbx; mov (rsp),rbp; add $8,rsp; ret */
	ANALYSE_X86(&rows, 0x55, 0x53, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x5b, 0x48, 0x8b, 0x2c,
		    0x24, 0x48, 0x83, 0xc4, 8, 0xc3);
	expect(EM_X86_64, &rows, 5, "cfa=sp+24 ra=cfa-8 fp=cfa-16 rbx=cfa-24");
	expect(EM_X86_64, &rows, 8, "cfa=sp+24 ra=cfa-8 fp=cfa-16 rbx=cfa-24");
	expect(EM_X86_64, &rows, 9, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_X86_64, &rows, 13, "cfa=sp+16 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 17, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(rows.statistics.believed_count, 1);
	/* mov rsp,(rdi); mov (rsi),rsp; mov 8(rsi),rbp; mov rax,rbx; ret: neither register is on the stack. */
	ANALYSE_X86(&rows, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x48, 0x8b, 0x6e, 8, 0x48, 0x89,
		    0xc3, 0xc3);
	assert_int_equal(rule_at(&rows, 6)->cfa, CFA_SP);
	assert_int_equal(rule_at(&rows, 6)->fp, SAVED_UNDEFINED);
	assert_int_equal(rule_at(&rows, 6)->rbx_slot, RBX_LOST);
	/* mov rsp,(rdi); mov (rsi),rsp; jmp *(rdx): nothing says where the return address is. */
	ANALYSE_X86(&rows, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0xff, 0x22);
	assert_int_equal(rule_at(&rows, 6)->cfa, CFA_NONE);
	/* mov (rsi),rsp; ret: it may be the end of longjmp(). */
	ANALYSE_X86(&rows, 0x48, 0x8b, 0x26, 0xc3);
	assert_int_equal(rule_at(&rows, 3)->cfa, CFA_NONE);
	assert_int_equal(rows.statistics.believed_count, 0);
}

static void test_a_return_from_the_middle_of_a_frame_is_not_believed(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; ret */
	ANALYSE_X86(&rows, 0x53, 0xc3);
	assert_true(rule_at(&rows, 0)->flags & RULE_GUESS);
	assert_true(rule_at(&rows, 1)->flags & RULE_GUESS);
	assert_int_equal(rows.statistics.believed_count, 0);
	assert_int_equal(rows.statistics.guessed_bytes, 2);
}

static void test_a_return_with_another_frame_pointer_is_not_believed(void **state)
{
	struct rows rows;

	(void)state;
	/* xor ebp,ebp; ret */
	ANALYSE_X86(&rows, 0x31, 0xed, 0xc3);
	assert_true(rule_at(&rows, 0)->flags & RULE_GUESS);
}

static void test_paths_that_disagree_are_not_believed(void **state)
{
	struct rows rows;

	(void)state;
	/* je 1f; push rax; 1: nop; add $8,rsp; ret */
	ANALYSE_X86(&rows, 0x74, 1, 0x50, 0x90, 0x48, 0x83, 0xc4, 8, 0xc3);
	assert_true(rule_at(&rows, 4)->flags & RULE_GUESS);
}

static void test_a_call_that_contradicts_another_path_does_not_return(void **state)
{
	struct rows rows;

	(void)state;
	/* je 1f; push rax; call far away; 1: ret */
	ANALYSE_X86(&rows, 0x74, 6, 0x50, 0xe8, 0, 0, 0, 0x70, 0xc3);
	expect(EM_X86_64, &rows, 3, "cfa=sp+16 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 8, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_a_call_that_nothing_shows_to_return_makes_guesses(void **state)
{
	struct rows rows;

	(void)state;
	/* push rax; test edi,edi; je over the call; call elsewhere; push rbx; hlt; pop rax; ret */
	ANALYSE_X86(&rows, 0x50, 0x85, 0xff, 0x74, 7, 0xe8, 0, 0, 0, 1, 0x53, 0xf4, 0x58, 0xc3);
	expect(EM_X86_64, &rows, 5, "cfa=sp+16 ra=cfa-8 fp=same");
	assert_int_equal(rule_at(&rows, 10)->flags, RULE_GUESS);
	assert_int_equal(rule_at(&rows, 11)->flags, RULE_GUESS);
	expect(EM_X86_64, &rows, 12, "cfa=sp+16 ra=cfa-8 fp=same");
	assert_int_equal(rows.statistics.believed_count, 1);
}

static void test_a_call_that_came_back_once_comes_back_again(void **state)
{
	struct rows rows;

	(void)state;
	/* push rax; call elsewhere; test edi,edi; je to pop; call the same; push rbx; hlt; pop; ret */
	ANALYSE_X86(&rows, 0x50, 0xe8, 7, 0, 0, 1, 0x85, 0xff, 0x74, 7, 0xe8, 0xfe, 0xff, 0xff, 0,
		    0x53, 0xf4, 0x58, 0xc3);
	expect(EM_X86_64, &rows, 15, "cfa=sp+16 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 16, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-24");
}

static void test_an_exit_behind_a_call_that_may_not_return_speaks_against_no_function(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; test edi,edi; je to the call; pop rbx; ret; call elsewhere; mov eax,edi; ret */
	ANALYSE_X86(&rows, 0x53, 0x85, 0xff, 0x74, 2, 0x5b, 0xc3, 0xe8, 0, 0, 0, 1, 0x89, 0xf8,
		    0xc3);
	expect(EM_X86_64, &rows, 7, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	assert_int_equal(rule_at(&rows, 7)->flags, 0);
	assert_int_equal(rule_at(&rows, 12)->flags, RULE_GUESS);
	assert_int_equal(rows.statistics.believed_count, 1);
}

static void test_code_that_no_path_reaches_speaks_against_no_function(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; test edi,edi; je to the trap; 1: pop rbx; ret; no-op; hlt; jmp 1b */
	ANALYSE_X86(&rows, 0x53, 0x85, 0xff, 0x74, 3, 0x5b, 0xc3, 0x90, 0xf4, 0xeb, 0xfa);
	expect(EM_X86_64, &rows, 5, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	assert_int_equal(rule_at(&rows, 5)->flags, 0);
	assert_int_equal(rows.statistics.believed_count, 1);
}

static void test_a_function_may_begin_with_a_pause(void **state)
{
	struct rows rows;

	(void)state;
	/* push rax; ud2; pause; mov $1,eax; ret: SpinPause() of HotSpot */
	ANALYSE_X86(&rows, 0x50, 0x0f, 0x0b, 0xf3, 0x90, 0xb8, 1, 0, 0, 0, 0xc3);
	expect(EM_X86_64, &rows, 1, "cfa=sp+16 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 3, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 5, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_what_is_aligned_behind_a_call_and_not_jumped_to_is_another_function(void **state)
{
	struct rows rows;

	(void)state;
	/* push rax; call elsewhere; no-ops; at 16, for pointers to it: mov edi,eax; ret */
	ANALYSE_X86(&rows, 0x50, 0xe8, 0, 0, 0, 1, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0,
		    0x89, 0xf8, 0xc3);
	expect(EM_X86_64, &rows, 1, "cfa=sp+16 ra=cfa-8 fp=same");
	assert_int_equal(rule_at(&rows, 16)->cfa, CFA_NONE);
	assert_int_equal(rows.statistics.guessed_bytes, 0);
}

static void test_instructions_that_no_compiler_has_are_not_believed(void **state)
{
	static const uint8_t codes[][8] = {
		{ 0x50, 0x58, 0xc2, 8, 0 }, /* push rax; pop rax; ret 8 */
		{ 0x66, 0x50, 0x66, 0x58, 0xc3 }, /* push ax; pop ax; ret */
		{ 0x48, 0x94, 0x48, 0x94, 0xc3 }, /* xchg rax,rsp; xchg rax,rsp; ret */
		{ 0xc8, 0, 0, 0, 0xc9, 0xc3 }, /* enter 0,0; leave; ret */
		{ 0x48, 0x83, 0xe4, 0x70, 0x90, 0xc3 }, /* and $0x70,rsp; ret */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct rows rows;

		analyse(EM_X86_64, codes[i], sizeof(codes[i]), -1, &rows);
		assert_int_equal(rows.statistics.believed_bytes, 0);
	}
}

static void test_tables_of_jumps_lead_to_what_nothing_else_reaches(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; jmp *rax; xor eax,eax; pop rbx; ret */
	ANALYSE_X86(&rows, 0x53, 0xff, 0xe0, 0x31, 0xc0, 0x5b, 0xc3);
	expect(EM_X86_64, &rows, 3, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 6, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_functions_are_found_by_calls_and_behind_ends(void **state)
{
	struct rows rows;

	(void)state;
	/* push rax; call 1f; pop rcx; ret; int3; 1: push rbx; pop rbx; ret; int3; push rbp; ... */
	ANALYSE_X86(&rows, 0x50, 0xe8, 3, 0, 0, 0, 0x59, 0xc3, 0xcc, 0x53, 0x5b, 0xc3, 0xcc, 0x55,
		    0x5d, 0xc3);
	expect(EM_X86_64, &rows, 9, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 10, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 14, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	assert_int_equal(rows.statistics.believed_count, 3);
}

static void test_a_return_address_may_wait_in_a_register(void **state)
{
	struct rows rows;

	(void)state;
	/* musl's vfork: pop rdx; mov $58,eax; syscall; push rdx; ret */
	ANALYSE_X86(&rows, 0x5a, 0xb8, 58, 0, 0, 0, 0x0f, 0x05, 0x52, 0xc3);
	expect(EM_X86_64, &rows, 6, "cfa=sp+0 ra=r1 fp=same");
	expect(EM_X86_64, &rows, 9, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_a_new_thread_has_no_caller(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc0, 0xb0, 0x38, 0x0f, 0x05, /* xor eax,eax; mov $56,al; syscall */
		0x85, 0xc0, 0x75, 15, /* test eax,eax; jne 1f */
		0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, /* xor ebp,ebp; pop rdi; call *r9 */
		0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, /* ... mov $60,al; syscall */
		0xf4, 0xc3, /* hlt; 1: ret */
	};
	struct rows rows;

	(void)state;
	analyse(EM_X86_64, code, sizeof(code), -1, &rows);
	expect(EM_X86_64, &rows, 4, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(rule_at(&rows, 12)->cfa, CFA_END);
	assert_int_equal(rule_at(&rows, 15)->cfa, CFA_END);
	expect(EM_X86_64, &rows, 25, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_what_ends_the_thread_ends_a_function(void **state)
{
	/* ret; and mov $60,eax; syscall; sub $8,rsp; add $8,rsp; ret */
	static const uint8_t code[] = { 0xc3, 0xb8, 60, 0,    0,    0,	  0x0f, 0x05, 0x48,
					0x83, 0xec, 8,	0x48, 0x83, 0xc4, 8,	0xc3 };
	struct rows rows;

	(void)state;
	analyse(EM_X86_64, code, sizeof(code), -1, &rows);
	expect(EM_X86_64, &rows, 8, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 12, "cfa=sp+16 ra=cfa-8 fp=same");
}

static void test_a_function_whose_address_is_taken_may_stand_behind_a_call(void **state)
{
	uint8_t code[] = {
		0x48, 0x8d, 0x05, 25,	0,    0,    0,	  0xc3, /* lea 32(code),rax; ret */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48,
		0x83, 0xec, 8, /* sub $8,rsp */
		0xe8, 0,    0,	  0,	0x70, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x90, /* call far away */
		0x53, 0x48, 0x83, 0xec, 16, /* push rbx; sub $16,rsp */
		0x89, 0xf8, 0xe8, 0,	0,    0,    0x70, 0xf4, /* mov edi,eax; call far away; hlt */
	};
	struct rows rows;

	(void)state;
	analyse(EM_X86_64, code, sizeof(code), -1, &rows);
	expect(EM_X86_64, &rows, 32, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 33, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 37, "cfa=sp+32 ra=cfa-8 fp=same rbx=cfa-16");
	/* No function begins by what does not make a frame. */
	code[32] = 0x90;
	code[33] = 0x90;
	analyse(EM_X86_64, code, sizeof(code), -1, &rows);
	assert_int_equal(rule_at(&rows, 37)->cfa, CFA_NONE);
	/* And none at an address that nobody takes. */
	code[32] = 0x53;
	code[33] = 0x48;
	code[3] = 26;
	analyse(EM_X86_64, code, sizeof(code), -1, &rows);
	assert_int_equal(rule_at(&rows, 37)->cfa, CFA_NONE);
}

static void test_the_entry_point_has_no_caller(void **state)
{
	/* xor rbp,rbp; mov rsp,rdi; and $-16,rsp; call far away */
	static const uint8_t code[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x83,
					0xe4, 0xf0, 0xe8, 0,	0,    0,    0x70 };
	struct rows rows;

	(void)state;
	analyse(EM_X86_64, code, sizeof(code), 0, &rows);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.rules[0].cfa, CFA_END);
}

static void test_signal_trampolines_are_found_from_the_byte_before(void **state)
{
	struct rows rows;

	(void)state;
	/* ret; nop; mov $15,rax; syscall */
	ANALYSE_X86(&rows, 0xc3, 0x90, 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05);
	expect(EM_X86_64, &rows, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(rule_at(&rows, 1)->cfa, CFA_SIGNAL);
	assert_int_equal(rule_at(&rows, 9)->cfa, CFA_SIGNAL);
	/* ret; mov x8,#139; svc #0 */
	ANALYSE_ARM64(&rows, 0xd65f03c0, 0xd2801168, 0xd4000001);
	expect(EM_AARCH64, &rows, 0, "cfa=sp+0 ra=lr fp=same");
	assert_int_equal(rule_at(&rows, 3)->cfa, CFA_SIGNAL);
	assert_int_equal(rule_at(&rows, 4)->cfa, CFA_SIGNAL);
}

static void test_frames_of_arm64(void **state)
{
	struct rows rows;

	(void)state;
	/* paciasp; stp x29,x30,[sp,#-32]!; mov x29,sp; ldp x29,x30,[sp],#32; autiasp; ret */
	ANALYSE_ARM64(&rows, 0xd503233f, 0xa9be7bfd, 0x910003fd, 0xa8c27bfd, 0xd50323bf,
		      0xd65f03c0);
	expect(EM_AARCH64, &rows, 4, "cfa=sp+0 ra=lr fp=same");
	expect(EM_AARCH64, &rows, 8, "cfa=sp+32 ra=cfa-24 fp=cfa-32");
	expect(EM_AARCH64, &rows, 12, "cfa=sp+32 ra=cfa-24 fp=cfa-32");
	expect(EM_AARCH64, &rows, 16, "cfa=sp+0 ra=lr fp=same");
	assert_int_equal(rows.statistics.believed_count, 1);
}

static void test_large_frames_of_arm64(void **state)
{
	struct rows rows;

	(void)state;
	/* mov x12,#0x2010; sub sp,sp,x12; str x30,[sp,#8]; ldr x30,[sp,#8]; add sp,sp,x12; ret */
	ANALYSE_ARM64(&rows, 0xd284020c, 0xcb2c63ff, 0xf90007fe, 0xf94007fe, 0x8b2c63ff,
		      0xd65f03c0);
	expect(EM_AARCH64, &rows, 8, "cfa=sp+8208 ra=lr fp=same");
	expect(EM_AARCH64, &rows, 12, "cfa=sp+8208 ra=cfa-8200 fp=same");
	expect(EM_AARCH64, &rows, 20, "cfa=sp+0 ra=lr fp=same");
}

static void test_scalable_vectors_make_frames_of_unknown_size(void **state)
{
	struct rows rows;

	(void)state;
	/* stp x29,x30,[sp,#-16]!; addvl sp,sp,#-3; addvl sp,sp,#3; ldp x29,x30,[sp],#16; ret */
	ANALYSE_ARM64(&rows, 0xa9bf7bfd, 0x043f57bf, 0x043f507f, 0xa8c17bfd, 0xd65f03c0);
	assert_int_equal(rows.statistics.believed_count, 0);
	assert_int_equal(rule_at(&rows, 8)->cfa, CFA_NONE);
	/* The same with mov x29,sp before, and mov sp,x29 behind. */
	ANALYSE_ARM64(&rows, 0xa9bf7bfd, 0x910003fd, 0x043f57bf, 0x910003bf, 0xa8c17bfd,
		      0xd65f03c0);
	expect(EM_AARCH64, &rows, 12, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(EM_AARCH64, &rows, 20, "cfa=sp+0 ra=lr fp=same");
	assert_int_equal(rows.statistics.believed_count, 1);
}

static void test_scalable_vectors_write_general_registers(void **state)
{
	struct rows rows;

	(void)state;
	/* cntb x30; ret */
	ANALYSE_ARM64(&rows, 0x0420e3fe, 0xd65f03c0);
	assert_int_equal(rows.statistics.believed_count, 0);
	/* cntp x29,p0,p1.d; ret */
	ANALYSE_ARM64(&rows, 0x25e0803d, 0xd65f03c0);
	assert_int_equal(rows.statistics.believed_count, 0);
	/* incd z29.d; add z30.d,z1.d,z2.d; cmple p13.d,p0/z,z13.d,#3; ret */
	ANALYSE_ARM64(&rows, 0x04f0c3fd, 0x04e2003e, 0x25c321bd, 0xd65f03c0);
	assert_int_equal(rows.statistics.believed_count, 1);
	expect(EM_AARCH64, &rows, 12, "cfa=sp+0 ra=lr fp=same");
}

static void test_what_stands_behind_the_entry_point_of_arm64_has_a_caller(void **state)
{
	/* bl far away; bl further away (abort); mov w0,#0; ret */
	static const uint32_t code[] = { 0x95000000, 0x95100000, 0x52800000, 0xd65f03c0 };
	struct rows rows;

	(void)state;
	analyse(EM_AARCH64, code, sizeof(code), 0, &rows);
	assert_int_equal(rule_at(&rows, 4)->cfa, CFA_END);
	assert_int_not_equal(rule_at(&rows, 8)->cfa, CFA_END);
}

static void test_a_return_without_the_link_register_is_not_believed(void **state)
{
	struct rows rows;

	(void)state;
	/* bl far away; ret */
	ANALYSE_ARM64(&rows, 0x95000000, 0xd65f03c0);
	assert_int_equal(rows.statistics.believed_count, 0);
}

static void test_what_has_more_branches_than_code_is_left_out(void **state)
{
	static uint8_t code[1 << 16];
	struct rows rows;

	(void)state;
	/* jo to every other byte */
	for (size_t i = 0; i < sizeof(code); i += 2) {
		code[i] = 0x70;
		code[i + 1] = 1;
	}
	analyse(EM_X86_64, code, sizeof(code), -1, &rows);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.rules[0].cfa, CFA_NONE);
	assert_int_equal(rows.statistics.unknown_bytes, sizeof(code));
}

static void test_other_machines_are_refused(void **state)
{
	const struct code_analysis_input input = { .machine = EM_RISCV };
	const struct code_row_handler handler = { .context = NULL, .row = keep_row };

	(void)state;
	assert_int_equal(code_analysis_run(&input, &handler, NULL), -EOPNOTSUPP);
}

static int refuse_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	(void)context;
	(void)address;
	(void)rule;
	return -E2BIG;
}

static void test_the_handler_can_end_the_analysis(void **state)
{
	static const uint8_t code[] = { 0xc3 };
	const struct code_bytes range = { BASE, code, sizeof(code) };
	const struct code_analysis_input input = {
		.machine = EM_X86_64,
		.ranges = &range,
		.range_count = 1,
	};
	const struct code_row_handler handler = { .context = NULL, .row = refuse_row };

	(void)state;
	assert_int_equal(code_analysis_run(&input, &handler, NULL), -E2BIG);
}

/* Code that makes a stack: the addresses of the two labels behind its return are stored. */
#define MAKES_STACK                                                                                     \
	/* 0: lea -64(rdi),rax; lea 10(rip),r9; mov r9,48(rax); lea 6(rip),r10; mov r10,40(rax); ret */ \
	0x48, 0x8d, 0x47, 0xc0, 0x4c, 0x8d, 0x0d, 0x10, 0, 0, 0, 0x4c, 0x89, 0x48, 0x30, 0x4c,          \
		0x8d, 0x15, 0x08, 0, 0, 0, 0x4c, 0x89, 0x50, 0x28, 0xc3

static void test_stacks_begin_at_code_that_stops_the_program(void **state)
{
	struct rows rows;

	(void)state;
	/* 27: push rbp; jmp *rbx; 30: mov $3,edi; call elsewhere; ud2; 42: nop; 43: push rax; pop rax; ret */
	ANALYSE_X86(&rows, MAKES_STACK, 0x55, 0xff, 0xe3, 0xbf, 3, 0, 0, 0, 0xe8, 0, 1, 0, 0, 0x0f,
		    0x0b, 0x90, 0x50, 0x58, 0xc3);
	expect(EM_X86_64, &rows, 26, "cfa=sp+8 ra=cfa-8 fp=same");
	for (size_t i = 27; i < 42; i++) {
		assert_int_equal(rule_at(&rows, i)->cfa, CFA_END);
		assert_int_equal(rule_at(&rows, i)->flags, RULE_BEGINS_STACK);
	}
	assert_int_not_equal(rule_at(&rows, 43)->cfa, CFA_END);
	/* The call returns to code that goes on. */
	ANALYSE_X86(&rows, MAKES_STACK, 0x55, 0xff, 0xe3, 0xbf, 3, 0, 0, 0, 0xe8, 0, 1, 0, 0, 0x5d,
		    0xc3, 0x90);
	assert_int_not_equal(rule_at(&rows, 27)->cfa, CFA_END);
	assert_int_not_equal(rule_at(&rows, 30)->cfa, CFA_END);
	/* A trap, and no call. */
	ANALYSE_X86(&rows, MAKES_STACK, 0x55, 0xff, 0xe3, 0xbf, 3, 0, 0, 0, 0x0f, 0x0b, 0x90);
	assert_int_not_equal(rule_at(&rows, 29)->cfa, CFA_END);
	/* The second address is that of the instruction behind the label. */
	ANALYSE_X86(&rows, MAKES_STACK, 0x55, 0x90, 0xff, 0xe3, 0xbf, 3, 0, 0, 0, 0xe8, 0, 1, 0, 0,
		    0x0f, 0x0b);
	assert_int_not_equal(rule_at(&rows, 30)->cfa, CFA_END);
}

static void test_code_that_a_function_reaches_begins_no_stack(void **state)
{
	struct rows rows;

	(void)state;
	/* As above, but the first instruction jumps to the label. */
	ANALYSE_X86(&rows, 0xeb, 27, MAKES_STACK, 0x55, 0xff, 0xe3, 0xbf, 3, 0, 0, 0, 0xe8, 0, 1, 0,
		    0, 0x0f, 0x0b);
	assert_int_not_equal(rule_at(&rows, 29)->cfa, CFA_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pushes_and_pops),
		cmocka_unit_test(test_stacks_begin_at_code_that_stops_the_program),
		cmocka_unit_test(test_code_that_a_function_reaches_begins_no_stack),
		cmocka_unit_test(test_frame_pointers_survive_a_stack_of_unknown_size),
		cmocka_unit_test(test_the_cfa_may_be_stored_in_an_aligned_frame),
		cmocka_unit_test(test_rbx_may_be_saved_in_an_aligned_frame),
		cmocka_unit_test(test_instructions_that_only_assembly_has_are_read),
		cmocka_unit_test(test_the_register_that_leads_to_the_caller_stands_beside_others),
		cmocka_unit_test(test_behind_a_change_of_stacks_the_return_is_looked_for),
		cmocka_unit_test(test_a_return_from_the_middle_of_a_frame_is_not_believed),
		cmocka_unit_test(test_a_return_with_another_frame_pointer_is_not_believed),
		cmocka_unit_test(test_paths_that_disagree_are_not_believed),
		cmocka_unit_test(test_a_call_that_contradicts_another_path_does_not_return),
		cmocka_unit_test(test_a_call_that_nothing_shows_to_return_makes_guesses),
		cmocka_unit_test(test_a_call_that_came_back_once_comes_back_again),
		cmocka_unit_test(
			test_an_exit_behind_a_call_that_may_not_return_speaks_against_no_function),
		cmocka_unit_test(test_code_that_no_path_reaches_speaks_against_no_function),
		cmocka_unit_test(
			test_what_is_aligned_behind_a_call_and_not_jumped_to_is_another_function),
		cmocka_unit_test(test_instructions_that_no_compiler_has_are_not_believed),
		cmocka_unit_test(test_tables_of_jumps_lead_to_what_nothing_else_reaches),
		cmocka_unit_test(test_functions_are_found_by_calls_and_behind_ends),
		cmocka_unit_test(test_a_return_address_may_wait_in_a_register),
		cmocka_unit_test(test_a_new_thread_has_no_caller),
		cmocka_unit_test(test_what_ends_the_thread_ends_a_function),
		cmocka_unit_test(test_a_function_whose_address_is_taken_may_stand_behind_a_call),
		cmocka_unit_test(test_the_entry_point_has_no_caller),
		cmocka_unit_test(test_signal_trampolines_are_found_from_the_byte_before),
		cmocka_unit_test(test_frames_of_arm64),
		cmocka_unit_test(test_large_frames_of_arm64),
		cmocka_unit_test(test_scalable_vectors_make_frames_of_unknown_size),
		cmocka_unit_test(test_scalable_vectors_write_general_registers),
		cmocka_unit_test(test_a_function_may_begin_with_a_pause),
		cmocka_unit_test(test_what_stands_behind_the_entry_point_of_arm64_has_a_caller),
		cmocka_unit_test(test_a_return_without_the_link_register_is_not_believed),
		cmocka_unit_test(test_what_has_more_branches_than_code_is_left_out),
		cmocka_unit_test(test_other_machines_are_refused),
		cmocka_unit_test(test_the_handler_can_end_the_analysis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
