/* SPDX-License-Identifier: Apache-2.0 */
/* Code as glibc's in this very program: found by its unwind information, then by its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/rule_text.h"
#include "stackdeltas/unwind_input.h"

static const uint8_t x86_clone[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, 0x01, 0xc3 };
static const uint32_t arm64_clone[] = { 0xd2801b88, 0xd4000001, 0xf100001f,
					0x540000a0, 0x5400004b, 0xd65f03c0 };

static void the_end_of_a_clone_is_told_by_its_bytes(void **state)
{
	uint8_t bytes[32] = { 0 };
	size_t start, end;

	(void)state;
	memcpy(bytes + 7, x86_clone, sizeof(x86_clone));
	assert_true(known_ranges_next_clone(EM_X86_64, bytes, sizeof(bytes), 0, &start, &end));
	assert_int_equal(start, 7);
	assert_int_equal(end, 17);
	assert_false(known_ranges_next_clone(EM_X86_64, bytes, sizeof(bytes), 8, &start, &end));
	assert_false(known_ranges_next_clone(EM_X86_64, bytes, 16, 0, &start, &end));
	for (int i = 0; i < 6; i++) {
		bytes[7 + i] ^= 1;
		assert_false(
			known_ranges_next_clone(EM_X86_64, bytes, sizeof(bytes), 0, &start, &end));
		bytes[7 + i] ^= 1;
	}
	assert_true(known_ranges_next_clone(EM_AARCH64, (const uint8_t *)arm64_clone,
					    sizeof(arm64_clone), 0, &start, &end));
	assert_int_equal(start, 4);
	assert_int_equal(end, 24);
	assert_false(known_ranges_next_clone(EM_AARCH64, (const uint8_t *)arm64_clone,
					     sizeof(arm64_clone) - 4, 0, &start, &end));
}

static void a_switch_ends_behind_its_push(void **state)
{
	static const uint8_t load[] = { 0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0 };
	static const uint8_t push[] = { 0x48, 0x8b, 0x8a, 0xa8, 0, 0, 0, 0x51 };
	uint8_t bytes[160] = { 0 };
	size_t start, end;

	(void)state;
	memcpy(bytes + 10, load, sizeof(load));
	memcpy(bytes + 60, push, sizeof(push));
	assert_true(known_ranges_next_switch(bytes, sizeof(bytes), 0, &start, &end));
	assert_int_equal(start, 17);
	assert_int_equal(end, 68);
	assert_false(known_ranges_next_switch(bytes, 67, 0, &start, &end));
	assert_false(known_ranges_next_switch(bytes, sizeof(bytes), end, &start, &end));
	/* Too far away. */
	memcpy(bytes + 100, push, sizeof(push));
	bytes[60] = 0;
	assert_false(known_ranges_next_switch(bytes, sizeof(bytes), 0, &start, &end));
}

#ifdef __x86_64__

/* As in clone.S, setcontext.S and swapcontext.S: the same unwind information, some of the code. */
__asm__(".text\n"
	".type like_clone, @function\n"
	"like_clone: .cfi_startproc\n"
	"	mov $56,%eax\n"
	"	.cfi_endproc\n"
	".globl clone_end, clone_child, switch_start, switch_end\n"
	"clone_end: syscall\n"
	"	test %rax,%rax\n"
	"	jl 1f\n"
	"	jz clone_child\n"
	"	ret\n"
	"clone_child: .cfi_startproc\n"
	"	.cfi_undefined %rip\n"
	"	xor %ebp,%ebp\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	"	.cfi_startproc\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	"like_old_clone: .cfi_startproc\n"
	"	mov $56,%eax\n"
	"	.cfi_endproc\n"
	".globl old_clone_end, old_clone_child\n"
	"old_clone_end: syscall\n"
	"	test %rax,%rax\n"
	"	jl 1b\n"
	"	jz old_clone_child\n"
	"	ret\n"
	"old_clone_child: xor %ebp,%ebp\n"
	"	hlt\n"
	"2:\n"
	"like_setcontext: .cfi_startproc\n"
	"	nop\n"
	"	.cfi_def_cfa %rdx, 0\n"
	"	.cfi_offset %rbx,128\n"
	"	.cfi_offset %rbp,120\n"
	"	.cfi_offset %r12,72\n"
	"	.cfi_offset %r13,80\n"
	"	.cfi_offset %r14,88\n"
	"	.cfi_offset %r15,96\n"
	"	.cfi_offset %rsp,160\n"
	"	.cfi_offset %rip,168\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"like_swapcontext: .cfi_startproc\n"
	"	.fill 180, 1, 0x90\n"
	"	mov 160(%rdx),%rsp\n"
	"switch_start: mov 128(%rdx),%rbx\n"
	"	mov 168(%rdx),%rcx\n"
	"	push %rcx\n"
	"switch_end: xor %eax,%eax\n"
	"	ret\n"
	"	.cfi_endproc\n");

/* That the caller is undefined, in a CIE: DW_CFA_def_cfa rsp, 8; DW_CFA_undefined rip. */
__asm__(".section .eh_frame,\"a\",@progbits\n"
	"3:	.long 5f - 4f\n"
	"4:	.long 0\n"
	"	.byte 1\n"
	"	.string \"zR\"\n"
	"	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 7, 16\n"
	"	.balign 4\n"
	"5:	.long 7f - 6f\n"
	"6:	.long 6b - 3b\n"
	"	.long old_clone_child - .\n"
	"	.long 2b - old_clone_child\n"
	"	.byte 0\n"
	"	.balign 4\n"
	"7:\n"
	".text\n");

extern const char clone_end[], clone_child[], switch_start[], switch_end[];
extern const char old_clone_end[], old_clone_child[];
extern const char __ehdr_start[];

static void assert_rule(const struct stack_deltas *deltas, const char *address,
			const char *expected)
{
	const struct unwind_rule *rule = stack_deltas_lookup(deltas, address - __ehdr_start);
	char text[RULE_TEXT_MAX_BYTES];

	assert_non_null(rule);
	rule_text(rule, EM_X86_64, text);
	assert_string_equal(text, expected);
}

static void ranges_in_a_file_are_found_and_hold(void **state)
{
	static const char call[] = "cfa=sp+8 ra=cfa-8 fp=same";
	static const char parent[] = "cfa=sp+8 ra=cfa-8 fp=same end in child";
	_cleanup_(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	struct hash128 key, other_key;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(unwind_input_read(&image, &input), 0);
	assert_int_equal(input.known_range_count, 3);
	key = unwind_input_key(&input);
	assert_int_equal(extract_deltas(&input, NULL, &deltas, NULL), 0);
	assert_int_equal(stack_deltas_check(&deltas), 0);
	assert_rule(&deltas, clone_end - 1, call);
	assert_rule(&deltas, clone_end, parent);
	assert_rule(&deltas, clone_child - 1, parent);
	assert_rule(&deltas, clone_child, "end");
	assert_rule(&deltas, old_clone_end - 1, call);
	assert_rule(&deltas, old_clone_end, parent);
	assert_rule(&deltas, old_clone_child - 1, parent);
	assert_rule(&deltas, old_clone_child, "end");
	assert_rule(&deltas, switch_start - 1, call);
	assert_rule(&deltas, switch_start, "context(r1)");
	assert_rule(&deltas, switch_end - 1, "context(r1)");
	assert_rule(&deltas, switch_end, call);
	input.known_range_count--;
	other_key = unwind_input_key(&input);
	assert_memory_not_equal(&key, &other_key, sizeof(key));
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_clone_is_told_by_its_bytes),
		cmocka_unit_test(a_switch_ends_behind_its_push),
#ifdef __x86_64__
		cmocka_unit_test(ranges_in_a_file_are_found_and_hold),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
