/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/elf/elf_relocations.h"
#include "lib/elf/tests/elf_builder.h"

enum { WORDS = 0x2000, TARGET = BUILT_ADDRESS + 0x100 };

static struct elf_builder builder;
static struct elf_image image;
static struct elf_pages pages;
static struct elf_relocations relocations;

/* Relocations of every other of @count words at WORDS; @relative_count goes to DT_RELACOUNT. */
static void open_built(uint16_t machine, uint32_t count, uint32_t relative_count)
{
	uint32_t type = machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	Elf64_Rela entries[100] = { 0 };
	Elf64_Dyn dynamic[5] = { 0 };
	uint32_t index;

	elf_builder_init(&builder, 2);
	built_header(&builder)->e_machine = machine;
	for (uint32_t i = 0; i < count; i++)
		entries[i] = (Elf64_Rela){ .r_offset = BUILT_ADDRESS + WORDS + i * 16,
					   .r_info = ELF64_R_INFO(0, type),
					   .r_addend = TARGET + i / 4 };
	index = elf_builder_add(&builder, ".rela.dyn", SHT_RELA, SHF_ALLOC, entries,
				count * sizeof(entries[0]));
	dynamic[0] = (Elf64_Dyn){ DT_RELA, { builder.sections[index].sh_addr } };
	dynamic[1] = (Elf64_Dyn){ DT_RELASZ, { count * sizeof(entries[0]) } };
	dynamic[2] = (Elf64_Dyn){ DT_RELACOUNT, { relative_count } };
	index = elf_builder_add(&builder, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, dynamic,
				sizeof(dynamic));
	*built_segment(&builder, 1) = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
						    .p_offset = builder.sections[index].sh_offset,
						    .p_filesz = sizeof(dynamic),
						    .p_memsz = sizeof(dynamic) };
	for (uint64_t i = 0; i < 2 * 100; i++)
		memcpy(builder.bytes + WORDS + i * 8, &i, sizeof(i));
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	elf_pages_init(&pages, &image);
	elf_relocations_init(&relocations, &image);
}

static void close_built(void)
{
	elf_pages_deinit(&pages);
	elf_image_deinit(&image);
}

static uint64_t word(uint32_t index)
{
	uint64_t found = 0;

	assert_int_equal(elf_relocations_word(&relocations, &pages,
					      BUILT_ADDRESS + WORDS + index * 8, &found),
			 0);
	return found;
}

static void words_are_relocated_in_any_order(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		open_built(i ? EM_AARCH64 : EM_X86_64, 90, 90);
		for (uint32_t k = 0; k < 200; k++)
			assert_int_equal(word(k), k % 2 || k >= 180 ? k : TARGET + k / 8);
		for (uint32_t k = 200; k-- > 0;)
			assert_int_equal(word(k), k % 2 || k >= 180 ? k : TARGET + k / 8);
		close_built();
	}
}

static void only_relative_ones_are_looked_at(void **state)
{
	(void)state;
	open_built(EM_X86_64, 90, 50);
	assert_int_equal(relocations.count, 50);
	assert_int_equal(word(98), TARGET + 12);
	assert_int_equal(word(100), 100);
	close_built();
	/* Without the count all are; these are another machine's. */
	open_built(EM_X86_64, 90, 0);
	assert_int_equal(relocations.count, 90);
	relocations.relative_type = R_AARCH64_RELATIVE;
	assert_int_equal(word(98), 98);
	close_built();
}

static void pointers_to_a_target_are_found(void **state)
{
	uint64_t cursor = 0, address = 0;

	(void)state;
	open_built(EM_X86_64, 90, 90);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(elf_relocations_find(&relocations, &pages, TARGET + 3, &cursor,
						      &address),
				 0);
		assert_int_equal(address, BUILT_ADDRESS + WORDS + (12 + i) * 16);
	}
	assert_int_equal(elf_relocations_find(&relocations, &pages, TARGET + 3, &cursor, &address),
			 -ENOENT);
	close_built();
}

static void damaged_tables_have_none(void **state)
{
	Elf64_Dyn *dynamic;
	uint64_t found;

	(void)state;
	open_built(EM_X86_64, 90, 90);
	dynamic = (Elf64_Dyn *)(builder.bytes + built_segment(&builder, 1)->p_offset);
	dynamic[0].d_un.d_ptr = 5;
	elf_relocations_init(&relocations, &image);
	assert_int_equal(relocations.count, 0);
	assert_int_equal(word(4), 4);
	/* A table that ends with the segment. */
	dynamic[0].d_un.d_ptr = BUILT_ADDRESS + BUILT_BYTES - 50;
	elf_relocations_init(&relocations, &image);
	assert_int_equal(relocations.count, 2);
	assert_int_equal(word(4), 4);
	assert_int_equal(elf_relocations_word(&relocations, &pages, 5, &found), -EBADMSG);
	close_built();
	elf_builder_init(&builder, 1);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	elf_relocations_init(&relocations, &image);
	assert_int_equal(relocations.count, 0);
	elf_image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_relocated_in_any_order),
		cmocka_unit_test(only_relative_ones_are_looked_at),
		cmocka_unit_test(pointers_to_a_target_are_found),
		cmocka_unit_test(damaged_tables_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
