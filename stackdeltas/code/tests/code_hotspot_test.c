/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of stubs as HotSpot generates them, written out in bytes; as ordinary code the same bytes are not verified. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "stackdeltas/code/code_analysis.h"
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
	const struct code_row_handler handler = { .context = rows, .row = keep_row };

	memset(rows, 0, sizeof(*rows));
	assert_int_equal(code_analysis_run(&input, &handler, NULL), 0);
}

/* A stub of HotSpot's that is thrown to, or jumped to from within a frame. */
static void analyse_entered_on(uint16_t machine, const uint8_t *bytes, size_t size,
			       bool is_thrown_to, uint32_t frame_bytes, struct rows *rows)
{
	const struct code_bytes range = { BASE, bytes, size };
	const uint64_t start = BASE;
	const struct code_analysis_input input = {
		.machine = machine,
		.ranges = &range,
		.range_count = 1,
		.starts = &start,
		.start_count = 1,
		.is_hotspot = true,
		.is_thrown_to = is_thrown_to,
		.frame_bytes = frame_bytes,
	};
	const struct code_row_handler handler = { .context = rows, .row = keep_row };

	memset(rows, 0, sizeof(*rows));
	assert_int_equal(code_analysis_run(&input, &handler, NULL), 0);
}

static void analyse_entered(const uint8_t *bytes, size_t size, bool is_thrown_to,
			    uint32_t frame_bytes, struct rows *rows)
{
	analyse_entered_on(EM_X86_64, bytes, size, is_thrown_to, frame_bytes, rows);
}

static const struct unwind_rule *rule_at(const struct rows *rows, size_t offset)
{
	size_t i = rows->count;

	while (rows->addresses[i - 1] > BASE + offset)
		i--;
	return &rows->rules[i - 1];
}

static void expect_on(uint16_t machine, const struct rows *rows, size_t offset, const char *text)
{
	char actual[RULE_TEXT_MAX_BYTES];
	struct unwind_rule rule = *rule_at(rows, offset);

	assert_false(rule.flags & RULE_GUESS);
	rule_text(&rule, machine, actual);
	assert_string_equal(actual, text);
}

static void expect(const struct rows *rows, size_t offset, const char *text)
{
	expect_on(EM_X86_64, rows, offset, text);
}

static void test_what_stands_behind_a_call_needs_no_proof(void **state)
{
	/* push rbp; mov rsp,rbp; call elsewhere; sub $8,rsp; call *r10; hlt */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0,    1,	  0,   0,
					0x48, 0x83, 0xec, 8,	0x41, 0xff, 0xd2, 0xf4 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 9, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 15, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	analyse(code, sizeof(code), 0, false, &rows);
	assert_true(rule_at(&rows, 9)->flags & RULE_GUESS);
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

static void test_a_result_may_come_back_in_rbp(void **state)
{
	/* push rcx; mov rax,rbp; pop rcx; ret */
	static const uint8_t code[] = { 0x51, 0x48, 0x89, 0xc5, 0x59, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 1, "cfa=sp+16 ra=cfa-8 fp=same");
	assert_int_equal(rule_at(&rows, 5)->cfa_offset, 8);
	assert_false(rule_at(&rows, 5)->flags & RULE_GUESS);
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
	expect(&rows, 15, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
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
	/* From another address. */
	memcpy(changed, code, sizeof(code));
	changed[19] = 0;
	analyse(changed, sizeof(changed), 0, true, &rows);
	assert_int_equal(rule_at(&rows, 21)->cfa, CFA_NONE);
}

static void test_a_path_that_runs_over_a_start_is_data(void **state)
{
	/* add $imm32,eax, of which the last byte is another function's: push rbp; mov rsp,rbp; leave; ret */
	static const uint8_t code[] = { 5, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 4, true, &rows);
	assert_int_equal(rule_at(&rows, 0)->cfa, CFA_NONE);
	expect(&rows, 4, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(&rows, 8, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 9, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_what_is_thrown_to_has_its_return_address_in_a_register(void **state)
{
	/*
	 * push rdx; sub $8,rsp; mov rbp,(rsp); and $-16,rsp; call *r10; mov (rsp),rbp; add $8,rsp; pop rdx;
	 * mov rax,r8; mov d32(r15),rdx; jmp *r8
	 */
	static const uint8_t code[] = { 0x52, 0x48, 0x83, 0xec, 8,    0x48, 0x89, 0x2c, 0x24, 0x48,
					0x83, 0xe4, 0xf0, 0x41, 0xff, 0xd2, 0x48, 0x8b, 0x2c, 0x24,
					0x48, 0x83, 0xc4, 8,	0x5a, 0x4c, 0x8b, 0xc0, 0x49, 0x8b,
					0x97, 0xe8, 5,	  0,	0,    0x41, 0xff, 0xe0 };
	struct rows rows;

	(void)state;
	analyse_entered(code, sizeof(code), true, 0, &rows);
	expect(&rows, 0, "cfa=sp+0 ra=r1 fp=same");
	expect(&rows, 1, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(&rows, 9, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 13, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 16, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 24, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(&rows, 25, "cfa=sp+0 ra=r1 fp=same");
	expect(&rows, 35, "cfa=sp+0 ra=r1 fp=same");
	/* If the stack need not be aligned, nothing is known behind that. */
	analyse_entered(code, sizeof(code), false, 0, &rows);
	assert_int_equal(rule_at(&rows, 13)->cfa, CFA_NONE);
}

static void test_where_a_poll_goes_on_the_thread_has_the_return_address(void **state)
{
	/*
	 * push rbx; push rbp; mov rsp,rbp; sub $16,rsp; mov r15,(rsp); mov d32(r15),rbx; mov rbx,8(rbp); call *r10;
	 * leave; ret
	 */
	static const uint8_t code[] = { 0x53, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 16,  0x4c,
					0x89, 0x3c, 0x24, 0x49, 0x8b, 0x9f, 0xe8, 3,	0,   0,
					0x48, 0x89, 0x5d, 8,	0x41, 0xff, 0xd2, 0xc9, 0xc3 };
	uint8_t other[sizeof(code)];
	struct rows rows;

	(void)state;
	analyse_entered(code, sizeof(code), true, 0, &rows);
	expect(&rows, 0, "cfa=sp+0 ra=*(thread+1000) fp=same");
	expect(&rows, 1, "cfa=sp+8 ra=*(thread+1000) fp=same rbx=cfa-8");
	expect(&rows, 2, "cfa=sp+16 ra=*(thread+1000) fp=cfa-16 rbx=cfa-8");
	expect(&rows, 5, "cfa=fp+16 ra=*(thread+1000) fp=cfa-16 rbx=cfa-8");
	expect(&rows, 20, "cfa=fp+16 ra=*(thread+1000) fp=cfa-16 rbx=cfa-8");
	expect(&rows, 24, "cfa=fp+16 ra=cfa-8 fp=cfa-16 rbx=undefined");
	expect(&rows, 28, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined");
	/* Another register is stored: the room has nothing in it. */
	memcpy(other, code, sizeof(code));
	other[22] = 0x4d;
	analyse_entered(other, sizeof(other), true, 0, &rows);
	assert_int_equal(rule_at(&rows, 0)->cfa, CFA_NONE);
	assert_int_equal(rule_at(&rows, 2)->cfa, CFA_NONE);
}

static void test_where_a_poll_goes_on_the_link_register_is_an_older_call_s(void **state)
{
	/*
	 * stp x29,x30,[sp,#-16]!; mov x29,sp; sub sp,sp,#16; ldr x20,[x28,#1000]; str x20,[x29,#8]; blr x8;
	 * mov sp,x29; ldp x29,x30,[sp],#16; ret
	 */
	static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xd10043ff, 0xf941f794, 0xf90007b4,
					 0xd63f0100, 0x910003bf, 0xa8c17bfd, 0xd65f03c0 };
	struct rows rows;

	(void)state;
	analyse_entered_on(EM_AARCH64, (const uint8_t *)code, sizeof(code), false, 0, &rows);
	expect_on(EM_AARCH64, &rows, 0, "cfa=sp+0 ra=*(thread+1000) fp=same");
	expect_on(EM_AARCH64, &rows, 12, "cfa=sp+32 ra=*(thread+1000) fp=cfa-16");
	expect_on(EM_AARCH64, &rows, 16, "cfa=sp+32 ra=*(thread+1000) fp=cfa-16");
	expect_on(EM_AARCH64, &rows, 20, "cfa=sp+32 ra=cfa-8 fp=cfa-16");
	expect_on(EM_AARCH64, &rows, 32, "cfa=sp+0 ra=lr fp=same");
}

static void test_what_goes_on_in_a_frame_takes_it_away(void **state)
{
	/* mov rax,8(rbp); mov 16(rsp),rbp; add $48,rsp; leave; ret */
	static const uint8_t code[] = { 0x48, 0x89, 0x45, 8,	0x48, 0x8b, 0x6c, 0x24,
					16,   0x48, 0x83, 0xc4, 48,   0xc9, 0xc3 };
	struct rows rows;

	(void)state;
	analyse_entered(code, sizeof(code), false, 64, &rows);
	expect(&rows, 0, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 9, "cfa=sp+64 ra=cfa-8 fp=cfa-16");
	expect(&rows, 14, "cfa=sp+8 ra=cfa-8 fp=same");
	/* No frame is that large. */
	analyse_entered(code, sizeof(code), false, UINT32_MAX - 7, &rows);
	expect(&rows, 0, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_a_return_address_may_replace_an_argument(void **state)
{
	/* pop rax; pop rbx; push rax; xor eax,eax; jmp *0x50(rbx) */
	static const uint8_t code[] = { 0x58, 0x5b, 0x50, 0x31, 0xc0, 0xff, 0x63, 0x50 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 1, "cfa=sp+0 ra=r0 fp=same");
	expect(&rows, 3, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined");
	expect(&rows, 5, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined");
}

static void test_frames_are_made_on_a_stack_made_anew(void **state)
{
	/* add rcx,rsp; push (rcx); push rbp; mov rsp,rbp; sub rbx,rsp; dec edx; jne back; leave; ret */
	static const uint8_t code[] = { 0x48, 0x01, 0xcc, 0xff, 0x31, 0x55, 0x48, 0x8b, 0xec,
					0x48, 0x2b, 0xe3, 0xff, 0xca, 0x75, 0xf3, 0xc9, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(rule_at(&rows, 3)->cfa, CFA_NONE);
	expect(&rows, 9, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 15, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 17, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_an_aligned_stack_pointer_is_given_back_from_the_thread(void **state)
{
	/* push rbp; mov rbp,rsp; sub rsp,8; and rsp,-16; call *r10; mov rsp,[r15+d32]; nop; leave; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 8,	0x48,
					0x83, 0xe4, 0xf0, 0x41, 0xff, 0xd2, 0x49, 0x8b, 0xa7,
					0xa0, 3,    0,	  0,	0x90, 0xc9, 0xc3 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 14, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 15, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 22, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	expect(&rows, 24, "cfa=sp+8 ra=cfa-8 fp=same");
}

static void test_frames_of_a_continuation_come_below_its_entry(void **state)
{
	/*
	 * pop rcx; mov r15,rdi; call *r10; mov rax,rbx; sub rbx,rsp; and $-16,rsp; push rax; call *r10;
	 * mov rax,rbx; mov rbx,rsp; sub $16,rsp; pop rbp; ret
	 */
	static const uint8_t code[] = { 0x59, 0x49, 0x8b, 0xff, 0x41, 0xff, 0xd2, 0x48, 0x8b,
					0xd8, 0x48, 0x2b, 0xe3, 0x48, 0x83, 0xe4, 0xf0, 0x50,
					0x41, 0xff, 0xd2, 0x48, 0x8b, 0xd8, 0x48, 0x8b, 0xe3,
					0x48, 0x83, 0xec, 16,	0x5d, 0xc3 };
	/* mov d32(r15),rsp */
	uint8_t barrier[7 + sizeof(code) - 4] = { 0x49, 0x8b, 0xa7 };
	struct rows rows;

	(void)state;
	analyse(code, sizeof(code), 0, true, &rows);
	expect(&rows, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	expect(&rows, 4, "cfa=entry(sp+0) ra=same fp=same");
	expect(&rows, 7, "cfa=entry(sp+0) ra=same fp=same");
	expect(&rows, 17, "cfa=entry(sp+0+rbx) ra=same fp=same");
	expect(&rows, 21, "cfa=entry(sp+8+rbx) ra=same fp=same");
	expect(&rows, 24, "cfa=r3+0 ra=cfa-8 fp=cfa-16 rbx=undefined");
	expect(&rows, 27, "cfa=sp+0 ra=cfa-8 fp=cfa-16 rbx=undefined");
	expect(&rows, 31, "cfa=sp+16 ra=cfa-8 fp=cfa-16 rbx=undefined");
	expect(&rows, 32, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined");
	memcpy(barrier + 7, code + 4, sizeof(code) - 4);
	analyse(barrier, sizeof(barrier), 0, true, &rows);
	expect(&rows, 7, "cfa=entry(sp+0) ra=same fp=same");
	expect(&rows, 20, "cfa=entry(sp+0+rbx) ra=same fp=same");
	expect(&rows, 35, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined");
	analyse(code, sizeof(code), 0, false, &rows);
	assert_int_not_equal(rule_at(&rows, 7)->cfa, CFA_JAVA_ENTRY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_stands_behind_a_call_needs_no_proof),
		cmocka_unit_test(test_rbx_is_nobodys_to_keep),
		cmocka_unit_test(test_a_result_may_come_back_in_rbp),
		cmocka_unit_test(test_a_stub_may_pop_its_return_address_and_jump),
		cmocka_unit_test(
			test_what_is_stored_over_the_return_address_is_where_the_caller_goes_on),
		cmocka_unit_test(test_a_stack_made_anew_has_no_rule_and_costs_no_belief),
		cmocka_unit_test(test_an_entry_behind_the_making_of_a_frame_is_no_start),
		cmocka_unit_test(test_the_own_frame_pointer_comes_back_from_the_stack),
		cmocka_unit_test(test_a_path_that_runs_over_a_start_is_data),
		cmocka_unit_test(test_what_is_thrown_to_has_its_return_address_in_a_register),
		cmocka_unit_test(test_where_a_poll_goes_on_the_thread_has_the_return_address),
		cmocka_unit_test(test_where_a_poll_goes_on_the_link_register_is_an_older_call_s),
		cmocka_unit_test(test_what_goes_on_in_a_frame_takes_it_away),
		cmocka_unit_test(test_a_return_address_may_replace_an_argument),
		cmocka_unit_test(test_frames_are_made_on_a_stack_made_anew),
		cmocka_unit_test(test_an_aligned_stack_pointer_is_given_back_from_the_thread),
		cmocka_unit_test(test_frames_of_a_continuation_come_below_its_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
