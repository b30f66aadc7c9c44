/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of callers that eval loops save, in prologues as compilers write them. */
#include "interpreters/python/python_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "lib/elf/tests/elf_builder.h"

enum { LOOP_BYTES = 256 };

#define PUSH_RBP 0x55
#define MOV_RSP_RBP 0x48, 0x89, 0xe5
#define PUSH_R15_TO_R12 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54
#define PUSH_RBX 0x53
#define MAKE_ROOM 0x48, 0x81, 0xec, 0x88, 0x01, 0, 0 /* sub $0x188,%rsp */
#define MAKE_LITTLE_ROOM 0x48, 0x83, 0xec, 0x18 /* sub $0x18,%rsp */
#define MOV_ESI_EBP 0x89, 0xf5
#define MOV_RDI_RBX 0x48, 0x89, 0xfb
#define RETURN 0xc3

static uint8_t saved_bytes(uint16_t machine, const uint8_t *code, size_t size)
{
	static struct elf_builder builder;
	uint8_t loop[LOOP_BYTES], saved;
	struct elf_image image;
	uint32_t section;

	/* hlt */
	memset(loop, 0xf4, sizeof(loop));
	memcpy(loop, code, size);
	elf_builder_init(&builder, 1);
	built_header(&builder)->e_machine = machine;
	section =
		elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_EXECINSTR, loop, sizeof(loop));
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	saved = python_loop_saved_bytes(&image, built_section(&builder, section)->sh_addr);
	elf_image_deinit(&image);
	return saved;
}

#define SAVED(machine, ...)                                                                        \
	saved_bytes(machine, (const uint8_t[]){ __VA_ARGS__ },                                     \
		    sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void what_is_pushed_is_counted_with_the_return_address(void **state)
{
	(void)state;
	assert_int_equal(
		SAVED(EM_X86_64, PUSH_RBP, MOV_RSP_RBP, PUSH_R15_TO_R12, PUSH_RBX, MAKE_ROOM), 56);
	/* Prologues of 3.7 and 3.8, and of 3.6. */
	assert_int_equal(
		SAVED(EM_X86_64, PUSH_R15_TO_R12, PUSH_RBP, PUSH_RBX, MOV_RDI_RBX, MAKE_ROOM), 56);
	assert_int_equal(SAVED(EM_X86_64, PUSH_R15_TO_R12, PUSH_RBP, MOV_ESI_EBP, PUSH_RBX,
			       MOV_RDI_RBX, MAKE_ROOM),
			 56);
	assert_int_equal(SAVED(EM_X86_64, PUSH_RBX, MAKE_LITTLE_ROOM), 16);
}

static void a_beginning_that_is_not_understood_tells_nothing(void **state)
{
	(void)state;
	/* Nothing is pushed; no variables are allocated; a return or branch comes before. */
	assert_int_equal(SAVED(EM_X86_64, MAKE_ROOM), 0);
	assert_int_equal(SAVED(EM_X86_64, PUSH_RBX), 0);
	assert_int_equal(SAVED(EM_X86_64, PUSH_RBX, RETURN, MAKE_ROOM), 0);
	assert_int_equal(SAVED(EM_X86_64, PUSH_RBX, 0xe8, 0, 0, 0, 0, MAKE_ROOM), 0);
	assert_int_equal(SAVED(EM_X86_64, PUSH_RBX, 0x74, 0, MAKE_ROOM), 0);
	/* More pushes than registers to save. */
	assert_int_equal(SAVED(EM_X86_64, PUSH_R15_TO_R12, PUSH_RBP, PUSH_RBX, PUSH_RBX, MAKE_ROOM),
			 0);
}

static void of_arm64_it_is_not_known(void **state)
{
	(void)state;
	assert_int_equal(
		SAVED(EM_AARCH64, PUSH_RBP, MOV_RSP_RBP, PUSH_R15_TO_R12, PUSH_RBX, MAKE_ROOM), 0);
}

static void code_beyond_the_file_tells_nothing(void **state)
{
	static struct elf_builder builder;
	struct elf_image image;

	(void)state;
	elf_builder_init(&builder, 1);
	elf_builder_finish(&builder);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(python_loop_saved_bytes(&image, BUILT_ADDRESS + BUILT_BYTES - 8), 0);
	assert_int_equal(python_loop_saved_bytes(&image, UINT64_MAX - 8), 0);
	elf_image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_pushed_is_counted_with_the_return_address),
		cmocka_unit_test(a_beginning_that_is_not_understood_tells_nothing),
		cmocka_unit_test(of_arm64_it_is_not_known),
		cmocka_unit_test(code_beyond_the_file_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
