// SPDX-License-Identifier: Apache-2.0
/* Small loops of both machines, as compilers write them; the core file tests unwind real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "interpreters/python/python_unpushed.h"
#include "lib/elf/tests/elf_builder.h"

enum { X0, X1, X2, X19 = 19, X20, SP = 31 };

struct loop {
	struct elf_builder builder;
	struct elf_image image;
	struct python_layout layout;
	struct code_range range;
	struct python_code_range unpushed[PYTHON_MAX_RANGES];
};

static void find(struct loop *loop, uint16_t machine, uint16_t version, const void *code,
		 size_t size)
{
	uint32_t section;

	elf_builder_init(&loop->builder, 1);
	built_header(&loop->builder)->e_machine = machine;
	section = elf_builder_add(&loop->builder, ".text", SHT_PROGBITS, SHF_EXECINSTR, code, size);
	elf_builder_finish(&loop->builder);
	loop->range.start = built_section(&loop->builder, section)->sh_addr;
	loop->range.end = loop->range.start + size;
	assert_int_equal(elf_image_init_memory(&loop->image, loop->builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(python_layout_init(&loop->layout, version, false), 0);
	assert_int_equal(python_unpushed_find(&loop->image, &loop->layout, loop->range.start,
					      &loop->range, 1, loop->unpushed),
			 0);
	elf_image_deinit(&loop->image);
}

/* Checks a range; @start and @end are offsets from the loop's beginning. */
static void expect(const struct loop *loop, uint32_t index, uint64_t start, uint64_t end)
{
	assert_int_equal(loop->unpushed[index].start, loop->range.start + start);
	assert_int_equal(loop->unpushed[index].end, loop->range.start + end);
}

static uint32_t load(uint32_t reg, uint32_t base, uint32_t displacement)
{
	return 0xf9400000 | displacement / 8 << 10 | base << 5 | reg;
}

static uint32_t store(uint32_t reg, uint32_t base, uint32_t displacement)
{
	return 0xf9000000 | displacement / 8 << 10 | base << 5 | reg;
}

static uint32_t store_pair(uint32_t reg, uint32_t second, uint32_t base, uint32_t displacement)
{
	return 0xa9000000 | displacement / 8 << 15 | second << 10 | base << 5 | reg;
}

static uint32_t move(uint32_t to, uint32_t from)
{
	return 0xaa0003e0 | from << 16 | to;
}

static uint32_t add(uint32_t to, uint32_t from, uint32_t number)
{
	return 0x91000000 | number << 10 | from << 5 | to;
}

#define STP_PUSH 0xa9bb7bfd /* stp x29, x30, [sp, #-80]! */
#define LDP_SAVED 0xa94153f3 /* ldp x19, x20, [sp, #16] */
#define LDP_POP 0xa8c57bfd /* ldp x29, x30, [sp], #80 */
#define CALL 0x94000400 /* bl somewhere */
#define NOP 0xd503201f
#define RETURN 0xd65f03c0
#define JUMP_REGISTER 0xd61f0040 /* br x2 */
#define JUMP_OUT 0x17ffff00 /* b to before the function */
#define JUMP_OVER 0x14000002 /* b to the next but one */

static void arm64_frames_are_pushed_and_popped(void **state)
{
	struct loop loop;
	const uint32_t thread_frame = 24, previous = 24;
	const uint32_t code[] = {
		STP_PUSH,
		store_pair(X19, X20, SP, 16),
		/* A store to the function's own stack is no push. */
		store(X1, SP, thread_frame),
		move(X19, X0),
		move(X20, X1),
		CALL,
		/* The call has not preserved x1. */
		store(X1, X19, thread_frame),
		store(X20, X19, thread_frame),
		NOP,
		load(X0, X20, previous),
		store(X0, X19, thread_frame),
		CALL,
		LDP_SAVED,
		LDP_POP,
		RETURN,
		NOP,
	};

	(void)state;
	find(&loop, EM_AARCH64, PYTHON_VERSION(3, 9), code, sizeof(code));
	assert_int_equal(loop.layout.frame.thread_frame, thread_frame);
	assert_int_equal(loop.layout.frame.previous, previous);
	expect(&loop, 0, 0, 8 * 4);
	expect(&loop, 1, 11 * 4, 15 * 4);
	assert_int_equal(loop.unpushed[2].end, 0);
}

static void before_3_9_the_frame_is_the_first_argument(void **state)
{
	struct loop loop;
	const uint32_t code[] = { store(X1, X19, 24), store(X0, X19, 24), RETURN };

	(void)state;
	find(&loop, EM_AARCH64, PYTHON_VERSION(3, 8), code, sizeof(code));
	assert_int_equal(loop.layout.frame.thread_frame, 24);
	expect(&loop, 0, 0, 2 * 4);
	assert_int_equal(loop.unpushed[1].end, 0);
}

static void a_pop_is_one_only_if_the_function_is_left_after_it(void **state)
{
	struct loop loop;
	const uint32_t code[] = {
		/* Continues with the next instruction of Python. */
		load(X0, X20, 24),
		store(X0, X19, 24),
		JUMP_REGISTER,
		/* The loaded value is overwritten before the store. */
		load(X0, X20, 24),
		move(X0, X2),
		store(X0, X19, 24),
		RETURN,
		/* Jumps to another function. */
		load(X0, X20, 24),
		store(X0, X19, 24),
		LDP_SAVED,
		JUMP_OUT,
		/* Jumps to a shared end of the function. */
		load(X0, X20, 24),
		store(X0, X19, 24),
		JUMP_OVER,
		CALL,
		LDP_POP,
		RETURN,
	};

	(void)state;
	find(&loop, EM_AARCH64, PYTHON_VERSION(3, 9), code, sizeof(code));
	expect(&loop, 0, 9 * 4, 11 * 4);
	expect(&loop, 1, 13 * 4, 14 * 4);
	expect(&loop, 2, 15 * 4, 17 * 4);
	assert_int_equal(loop.unpushed[3].end, 0);
}

static void arm64_cframes_are_filled_after_they_are_installed(void **state)
{
	struct loop loop;
	uint32_t code[] = {
		STP_PUSH, move(X19, X0), add(X0, SP, 64), 0, store_pair(X1, X2, SP, 64 - 16),
		0,	  RETURN,
	};

	(void)state;
	assert_int_equal(python_layout_init(&loop.layout, PYTHON_VERSION(3, 11), false), 0);
	code[3] = store(X0, X19, loop.layout.frame.thread_cframe);
	/* The second register of the pair is the one to find. */
	code[5] = store_pair(X1, X2, SP, 64 + loop.layout.frame.cframe_frame - 8);
	find(&loop, EM_AARCH64, PYTHON_VERSION(3, 11), code, sizeof(code));
	expect(&loop, 0, 4 * 4, 6 * 4);
	assert_int_equal(loop.unpushed[1].end, 0);
}

static void x86_frames_are_pushed_and_popped(void **state)
{
	struct loop loop;
	static const uint8_t code[] = {
		0x53, /* push %rbx */
		0x48, 0x89, 0xfb, /* mov %rdi,%rbx */
		0x48, 0x89, 0xf5, /* mov %rsi,%rbp */
		0x48, 0x89, 0x6b, 0x18, /* mov %rbp,0x18(%rbx) */
		0x90, 0x48, 0x8b, 0x45, 0x18, /* nop; mov 0x18(%rbp),%rax */
		0x48, 0x89, 0x43, 0x18, /* mov %rax,0x18(%rbx) */
		0x5b, /* pop %rbx */
		0xc3, /* ret */
	};

	(void)state;
	find(&loop, EM_X86_64, PYTHON_VERSION(3, 9), code, sizeof(code));
	expect(&loop, 0, 0, 11);
	expect(&loop, 1, 20, 22);
	assert_int_equal(loop.unpushed[2].end, 0);
}

static void x86_cframes_are_filled_by_wide_stores_too(void **state)
{
	struct loop loop;
	uint8_t code[] = {
		0x48, 0x8d, 0x44, 0x24, 0x40, /* lea 0x40(%rsp),%rax */
		0x48, 0x89, 0x43, 0, /* mov %rax,cframe(%rbx) */
		0x0f, 0x11, 0x44, 0x24, 0x28, /* movups %xmm0,0x28(%rsp) */
		0x0f, 0x11, 0x44, 0x24, 0, /* movups %xmm0,... */
		0xc3, /* ret */
	};

	(void)state;
	assert_int_equal(python_layout_init(&loop.layout, PYTHON_VERSION(3, 11), false), 0);
	code[8] = (uint8_t)loop.layout.frame.thread_cframe;
	code[18] = (uint8_t)(0x40 + loop.layout.frame.cframe_frame);
	find(&loop, EM_X86_64, PYTHON_VERSION(3, 11), code, sizeof(code));
	expect(&loop, 0, 9, 19);
}

static void later_versions_need_none(void **state)
{
	struct loop loop;
	const uint32_t code[] = { store(X1, X0, 24), RETURN };

	(void)state;
	find(&loop, EM_AARCH64, PYTHON_VERSION(3, 9), code, sizeof(code));
	assert_int_not_equal(loop.unpushed[0].end, 0);
	loop.layout.version = PYTHON_VERSION(3, 13);
	assert_int_equal(elf_image_init_memory(&loop.image, loop.builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(python_unpushed_find(&loop.image, &loop.layout, loop.range.start,
					      &loop.range, 1, loop.unpushed),
			 0);
	assert_int_equal(loop.unpushed[0].end, 0);
	loop.layout.version = PYTHON_VERSION(3, 9);
	loop.range.end = loop.range.start;
	assert_int_equal(python_unpushed_find(&loop.image, &loop.layout, loop.range.start,
					      &loop.range, 1, loop.unpushed),
			 -EBADMSG);
	elf_image_deinit(&loop.image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arm64_frames_are_pushed_and_popped),
		cmocka_unit_test(before_3_9_the_frame_is_the_first_argument),
		cmocka_unit_test(a_pop_is_one_only_if_the_function_is_left_after_it),
		cmocka_unit_test(arm64_cframes_are_filled_after_they_are_installed),
		cmocka_unit_test(x86_frames_are_pushed_and_popped),
		cmocka_unit_test(x86_cframes_are_filled_by_wide_stores_too),
		cmocka_unit_test(later_versions_need_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
