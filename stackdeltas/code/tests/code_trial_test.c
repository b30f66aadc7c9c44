/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that nothing calls directly, and calls that do not return, in code without padding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stackdeltas/code/tests/analysed_code.h"

/* Analyses @bytes with a known function at the start; data has the address of @pointer, an offset. */
static void analyse_pointed(const uint8_t *bytes, size_t size, uint64_t pointer, struct rows *rows)
{
	const struct code_bytes range = { BASE, bytes, size };
	const uint64_t start = BASE, address = BASE + pointer;
	const struct code_analysis_input input = {
		.machine = EM_X86_64,
		.ranges = &range,
		.range_count = 1,
		.starts = &start,
		.start_count = 1,
		.pointers = &address,
		.pointer_count = 1,
	};

	analyse_input(&input, rows);
}

/* A function with a jump table and a frame, then at 8 another one: gcc -Os aligns neither. */
static const uint8_t behind_table[] = {
	0x53, /* push rbx */
	0x50, /* push rax */
	0xff, 0xe0, /* jmp *rax */
	0x58, /* pop rax */
	0x5b, /* pop rbx */
	0xc3, /* ret */
	0x90, 0x41, 0x54, /* 8: push r12 */
	0x55, /* push rbp */
	0x31, 0xc0, /* xor eax,eax */
	0x5d, /* pop rbp */
	0x41, 0x5c, /* pop r12 */
	0xc3, /* ret */
};

static void a_function_behind_a_jump_table_is_no_block_of_it(void **state)
{
	struct rows rows;

	(void)state;
	analyse(EM_X86_64, behind_table, sizeof(behind_table), -1, &rows);
	expect(EM_X86_64, &rows, 4, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 8, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 11, "cfa=sp+24 ra=cfa-8 fp=cfa-24");
}

/*
 * push rax; call elsewhere, which does not return; 6: push r12; push rbp; 9: xor eax,eax; 11: call; then the same
 * call again, so that nothing comes to a return.
 */
/* As dav1d has them. */
static void a_jump_table_may_be_behind_other_functions_with_the_same_body(void **state)
{
	static const uint8_t code[] = {
		0xb8, 1,    0,	  0,	0,    0xeb, 0x09, 0x90, /* mov $1,eax; jmp 16 */
		0xb8, 2,    0,	  0,	0,    0xeb, 0x01, 0x90, /* 8: mov $2,eax; jmp 16 */
		0x53, 0x41, 0x54, 0xff, 0xe1, /* 16: push rbx; push r12; jmp *rcx */
		0x41, 0x5c, 0x5b, 0xc3, /* 21: pop r12; pop rbx; ret */
	};
	struct rows rows;

	(void)state;
	analyse_pointed(code, sizeof(code), 8, &rows);
	expect(EM_X86_64, &rows, 8, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 21, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
}

static void a_function_that_only_data_knows_may_stand_behind_a_call(void **state)
{
	static const uint8_t code[] = {
		0x50, 0xe8, 0,	  1, 0, 0, /* push rax; call */
		0x41, 0x54, 0x55, /* 6: push r12; push rbp */
		0x50, /* 9: push rax */
		0xe8, 0xf7, 0,	  0, 0, /* 10: call the same */
	};
	struct rows rows;

	(void)state;
	analyse_pointed(code, sizeof(code), 6, &rows);
	expect(EM_X86_64, &rows, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 6, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 10, "cfa=sp+32 ra=cfa-8 fp=cfa-24");
}

static void an_address_in_data_may_be_that_of_a_block(void **state)
{
	/* push rbx; push rax; jmp *rax; 4: pop rax; pop rbx; ret */
	static const uint8_t code[] = { 0x53, 0x50, 0xff, 0xe0, 0x58, 0x5b, 0xc3 };
	struct rows rows;

	(void)state;
	analyse_pointed(code, sizeof(code), 4, &rows);
	expect(EM_X86_64, &rows, 4, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
	/* Within an instruction there is neither. */
	analyse_pointed(code, sizeof(code), 3, &rows);
	expect(EM_X86_64, &rows, 4, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
}

static void a_function_without_padding_ends_the_one_that_calls_before_it(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; push rax; call; 7: push rbp; push rbx; push rax; xor eax,eax; pop rdx; pop rbx; pop rbp; ret */
	ANALYSE_X86(&rows, 0x53, 0x50, 0xe8, 0, 1, 0, 0, 0x55, 0x53, 0x50, 0x31, 0xc0, 0x5a, 0x5b,
		    0x5d, 0xc3);
	expect(EM_X86_64, &rows, 2, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 7, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 10, "cfa=sp+32 ra=cfa-8 fp=cfa-16 rbx=cfa-24");
	assert_int_equal(rows.statistics.believed_count, 2);
}

/* Only a return of the call leads to the code behind it: a function that starts there would call with the stack askew. */
static void a_call_returns_if_nothing_else_leads_behind_it(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; call elsewhere; 6: mov ebx,edi; call elsewhere; hlt */
	ANALYSE_X86(&rows, 0x53, 0xe8, 0, 1, 0, 0, 0x89, 0xdf, 0xe8, 0, 2, 0, 0, 0xf4);
	expect(EM_X86_64, &rows, 8, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	/* A branch elsewhere leads there, too: push rbx; call; 6: mov; call; 13: ret; jmp 6 */
	ANALYSE_X86(&rows, 0x53, 0xe8, 0, 1, 0, 0, 0x89, 0xdf, 0xe8, 0, 2, 0, 0, 0xf4, 0xeb, 0xf6);
	assert_int_equal(rule_at(&rows, 8)->cfa, CFA_NONE);
}

static void calls_by_pointers_that_vary_return(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; call *(rax); 3: push rax, as a function may begin; call elsewhere; hlt */
	ANALYSE_X86(&rows, 0x53, 0xff, 0x10, 0x50, 0xe8, 0, 2, 0, 0, 0xf4);
	expect(EM_X86_64, &rows, 4, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
	/* By a slot of the GOT functions are called that may not return, such as abort(). */
	ANALYSE_X86(&rows, 0x53, 0xff, 0x15, 0, 1, 0, 0, 0x50, 0xe8, 0, 2, 0, 0, 0xf4);
	assert_true(rule_at(&rows, 8)->flags & RULE_GUESS);
}

static void calls_from_other_ranges_show_where_functions_start(void **state)
{
	/* call of 6 in the other range; ret */
	static const uint8_t caller[] = { 0x50, 0xe8, 0x00, 0x02, 0, 0, 0x58, 0xc3 };
	/* ret; jmp *rax; and behind it hlt at once, in a frame: push rbx; 4: hlt */
	static const uint8_t callee[] = { 0xc3, 0xff, 0xe0, 0x90, 0x90, 0x90, 0x53, 0x90, 0xf4 };
	const struct code_bytes ranges[] = {
		{ BASE, caller, sizeof(caller) },
		{ BASE + 0x200, callee, sizeof(callee) },
	};
	const struct code_analysis_input input = {
		.machine = EM_X86_64,
		.ranges = ranges,
		.range_count = 2,
	};
	struct rows rows;

	(void)state;
	analyse_input(&input, &rows);
	expect(EM_X86_64, &rows, 0x206, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(EM_X86_64, &rows, 0x207, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
}

static void a_jump_may_be_a_call_by_an_address_in_a_register(void **state)
{
	struct rows rows;

	(void)state;
	/* push rbx; lea 13(rip),r8; jmp elsewhere; 13: pop rbx; ret */
	ANALYSE_X86(&rows, 0x53, 0x4c, 0x8d, 0x05, 5, 0, 0, 0, 0xe9, 0, 2, 0, 0, 0x5b, 0xc3);
	expect(EM_X86_64, &rows, 13, "cfa=sp+16 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 14, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void programs_at_fixed_addresses_take_addresses_by_their_number(void **state)
{
	/* mov $14,edi; jmp elsewhere; 10: push rax; hlt; nop; nop; 14: push rbx; push rax; hlt */
	static uint8_t by_mov[] = { 0xbf, 14,	0,    0,    0,	  0xe9, 0,    2,   0,
				    0,	  0x50, 0xf4, 0x90, 0x90, 0x53, 0x50, 0xf4 };
	/* mov $16,rdi; jmp elsewhere; 12: push rax; hlt; nop; nop; 16: push rbx; push rax; hlt */
	static uint8_t by_wide_mov[] = { 0x48, 0xc7, 0xc7, 16,	 0,    0,    0,	   0xe9, 0,   2,
					 0,    0,    0x50, 0xf4, 0x90, 0x90, 0x53, 0x50, 0xf4 };
	const struct code_bytes ranges[] = {
		{ BASE, by_mov, sizeof(by_mov) },
		{ 0x401000, by_mov, sizeof(by_mov) },
		{ 0x402000, by_wide_mov, sizeof(by_wide_mov) },
	};
	const struct code_analysis_input input = {
		.machine = EM_X86_64,
		.ranges = ranges,
		.range_count = 3,
	};
	struct rows rows;

	(void)state;
	memcpy(by_mov + 1, (const uint8_t[]){ 14, 0x10, 0x40 }, 3);
	memcpy(by_wide_mov + 3, (const uint8_t[]){ 16, 0x20, 0x40 }, 3);
	analyse_input(&input, &rows);
	expect(EM_X86_64, &rows, 0x400000 + 16, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
	expect(EM_X86_64, &rows, 0x401000 + 18, "cfa=sp+24 ra=cfa-8 fp=same rbx=cfa-16");
	/* At low addresses the number may be any. */
	memcpy(by_mov + 1, (const uint8_t[]){ 14, 0x10, 0 }, 3);
	analyse_input(&input, &rows);
	assert_int_equal(rule_at(&rows, 16)->cfa, CFA_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_behind_a_jump_table_is_no_block_of_it),
		cmocka_unit_test(a_jump_table_may_be_behind_other_functions_with_the_same_body),
		cmocka_unit_test(a_function_that_only_data_knows_may_stand_behind_a_call),
		cmocka_unit_test(an_address_in_data_may_be_that_of_a_block),
		cmocka_unit_test(a_function_without_padding_ends_the_one_that_calls_before_it),
		cmocka_unit_test(a_call_returns_if_nothing_else_leads_behind_it),
		cmocka_unit_test(calls_by_pointers_that_vary_return),
		cmocka_unit_test(calls_from_other_ranges_show_where_functions_start),
		cmocka_unit_test(a_jump_may_be_a_call_by_an_address_in_a_register),
		cmocka_unit_test(programs_at_fixed_addresses_take_addresses_by_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
