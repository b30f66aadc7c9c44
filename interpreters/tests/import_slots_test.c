/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is made here, whose code uses an exported function and a variable of its own through slots. */
#include "interpreters/import_slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/elf/fuzz/made_elf.h"

enum {
	FUNCTION = MADE_START + 0x100,
	VARIABLE = MADE_START + 0x200,
	/* Offsets in the content. */
	FUNCTION_SLOT = 0,
	VARIABLE_SLOT = 8,
	OTHER_SLOT = 0x10,
	STUB = 0x40,
	OTHER = 0x80,
	CODE = 0xc0,
};

static struct made_elf elf;
static struct elf_image image;
static struct import_slots slots;

static uint64_t at(uint64_t offset)
{
	return MADE_ADDRESS(content) + offset;
}

/* Writes an instruction with the @size bytes of @opcode, and the distance to @target. */
static void put(uint64_t offset, const uint8_t *opcode, size_t size, uint64_t target)
{
	int32_t distance = (int32_t)(target - (at(offset) + size + sizeof(distance)));

	memcpy(elf.content + offset, opcode, size);
	memcpy(elf.content + offset + size, &distance, sizeof(distance));
}

static int make_library(void **state)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t jump[] = { 0xff, 0x25 };
	const struct made_symbol symbols[] = {
		{ .name = "function", .address = FUNCTION },
		{ .name = "variable", .address = VARIABLE },
		{ .name = "other", .address = MADE_START + 0x300 },
	};
	static const char *const names[] = { "function", "variable" };
	struct elf_dynamic dynamic;

	(void)state;
	made_elf_init(&elf, EM_X86_64);
	made_elf_set_symbols(&elf, symbols, 3, 1, true);
	/* The variable's is in the table of other relocations, behind the ones of functions. */
	for (uint64_t i = 1, functions = 0; i <= 3; i++) {
		uint64_t address = elf.symbols[i].st_value;

		if (address == VARIABLE)
			elf.slots[2] = (Elf64_Rela){ .r_offset = at(VARIABLE_SLOT),
						     .r_info = ELF64_R_INFO(i, R_X86_64_GLOB_DAT) };
		else
			elf.slots[functions++] = (Elf64_Rela){
				.r_offset = at(address == FUNCTION ? FUNCTION_SLOT : OTHER_SLOT),
				.r_info = ELF64_R_INFO(i, R_X86_64_JUMP_SLOT)
			};
	}
	elf.dynamic[5] = (Elf64_Dyn){ DT_PLTRELSZ, { 2 * sizeof(Elf64_Rela) } };
	elf.dynamic[3] = (Elf64_Dyn){ DT_RELA, { MADE_ADDRESS(slots[2]) } };
	elf.dynamic[7] = (Elf64_Dyn){ DT_RELASZ, { sizeof(Elf64_Rela) } };
	memcpy(elf.content + STUB, endbr64, sizeof(endbr64));
	put(STUB + sizeof(endbr64), jump, sizeof(jump), at(FUNCTION_SLOT));
	put(OTHER, jump, sizeof(jump), at(OTHER_SLOT));
	assert_int_equal(elf_image_init_memory(&image, (const uint8_t *)&elf, MADE_ELF_BYTES), 0);
	assert_int_equal(elf_dynamic_init(&dynamic, &image), 0);
	slots = (struct import_slots){ 0 };
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(elf_dynamic_find(&dynamic, &image, names[i], &slots.symbols[i]),
				 0);
	slots.symbol_count = 2;
	assert_int_equal(import_slots_find(&slots, &image, &dynamic), 0);
	return 0;
}

static int release_library(void **state)
{
	(void)state;
	elf_image_deinit(&image);
	return 0;
}

static void a_slot_leads_to_its_symbol_and_back(void **state)
{
	(void)state;
	assert_int_equal(slots.slot_count, 2);
	assert_int_equal(import_slots_at(&slots, at(FUNCTION_SLOT)), FUNCTION);
	assert_int_equal(import_slots_at(&slots, at(VARIABLE_SLOT)), VARIABLE);
	assert_int_equal(import_slots_of(&slots, VARIABLE), at(VARIABLE_SLOT));
	/* The slot of another symbol, and none. */
	assert_int_equal(import_slots_at(&slots, at(OTHER_SLOT)), 0);
	assert_int_equal(import_slots_at(&slots, 0), 0);
	assert_int_equal(import_slots_of(&slots, MADE_START + 0x300), 0);
}

/* The target of an instruction that is written to the code. */
static uint64_t target_of(const uint8_t *opcode, size_t size, uint64_t target)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };

	put(CODE, opcode, size, target);
	assert_int_equal(x86_code_init_head(&code, &image, at(CODE), 8), 0);
	assert_true(x86_code_next(&code));
	return import_slots_target(&slots, &code);
}

static void a_call_leads_through_a_stub_to_the_function(void **state)
{
	static const uint8_t call[] = { 0xe8 }, jump[] = { 0xe9 };

	(void)state;
	assert_int_equal(target_of(call, 1, at(STUB)), FUNCTION);
	assert_int_equal(target_of(jump, 1, at(STUB)), FUNCTION);
	/* The stub of another function, code that is no stub, and no code. */
	assert_int_equal(target_of(call, 1, at(OTHER)), at(OTHER));
	assert_int_equal(target_of(call, 1, at(CODE)), at(CODE));
	assert_int_equal(target_of(call, 1, 0x1000), 0x1000);
}

static void a_call_leads_through_a_slot_to_the_function(void **state)
{
	static const uint8_t call[] = { 0xff, 0x15 }, load[] = { 0x48, 0x8b, 0x05 };

	(void)state;
	assert_int_equal(target_of(call, 2, at(FUNCTION_SLOT)), FUNCTION);
	assert_int_equal(target_of(call, 2, at(OTHER_SLOT)), 0);
	assert_int_equal(target_of(load, 3, at(FUNCTION_SLOT)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_leads_to_its_symbol_and_back),
		cmocka_unit_test(a_call_leads_through_a_stub_to_the_function),
		cmocka_unit_test(a_call_leads_through_a_slot_to_the_function),
	};

	return cmocka_run_group_tests(tests, make_library, release_library);
}
