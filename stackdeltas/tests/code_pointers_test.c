/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/code_pointers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "lib/elf/elf_image.h"
#include "lib/elf/tests/elf_builder.h"
#include "stackdeltas/fde_table.h"

enum { CODE = BUILT_ADDRESS + 0x1000, CODE_BYTES = 0x100, DATA = 0x3000, ENTRY = 0x2000 };

static struct elf_builder builder;
static const uint8_t bytes[CODE_BYTES];
static struct code_bytes range = { CODE, bytes, CODE_BYTES };

/* A file with a segment of data, and one of no use between: code is not read from the file here. */
static void build(uint16_t machine)
{
	elf_builder_init(&builder, 3);
	built_header(&builder)->e_machine = machine;
	built_segment(&builder, 0)->p_filesz = DATA;
	*built_segment(&builder, 1) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_offset = DATA,
		.p_vaddr = BUILT_ADDRESS + DATA,
		.p_filesz = BUILT_BYTES - DATA,
		.p_memsz = BUILT_BYTES - DATA,
	};
}

static void put_word(uint64_t offset, uint64_t word)
{
	memcpy(builder.bytes + offset, &word, sizeof(word));
}

static void expect_pointers(const uint64_t *expected, size_t count)
{
	struct bare_code code = { .ranges = &range, .range_count = 1 };
	struct elf_image image;

	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(code_pointers_read(&image, &code), 0);
	assert_int_equal(code.pointers.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(code.pointers.items[i], expected[i]);
	address_vector_deinit(&code.pointers);
	elf_image_deinit(&image);
}

static void words_of_data_are_found(void **state)
{
	const uint64_t expected[] = { CODE, CODE + 7, CODE + CODE_BYTES - 1 };

	(void)state;
	build(EM_X86_64);
	put_word(DATA, CODE + 7);
	put_word(DATA + 0x80, CODE);
	put_word(DATA + 0x88, CODE + 7);
	put_word(DATA + 0x90, CODE + CODE_BYTES);
	put_word(DATA + 0x98, CODE - 1);
	/* Not aligned, and in an executable segment. */
	put_word(DATA + 0xa4, CODE + 9);
	put_word(0x800, CODE + 11);
	put_word(BUILT_BYTES - 8, CODE + CODE_BYTES - 1);
	expect_pointers(expected, 3);
	/* Words count by their address. */
	built_segment(&builder, 1)->p_vaddr += 4;
	expect_pointers((const uint64_t[]){ CODE + 9 }, 1);
	/* In a position-independent file, which begins at 0, only writable data counts. */
	built_segment(&builder, 1)->p_vaddr = DATA;
	expect_pointers(NULL, 0);
	built_segment(&builder, 1)->p_flags |= PF_W;
	expect_pointers(expected, 3);
}

static void relative_relocations_are_found(void **state)
{
	enum { COUNT = 300 };
	Elf64_Rela entries[COUNT] = { 0 };
	Elf64_Dyn dynamic[3] = { 0 };
	uint64_t expected[CODE_BYTES / 2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t type = i ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
		uint32_t index;

		build(i ? EM_AARCH64 : EM_X86_64);
		for (uint32_t k = 0; k < COUNT; k++)
			entries[k] = (Elf64_Rela){
				.r_info = ELF64_R_INFO(0, k % 2 ? type : R_X86_64_64),
				.r_addend = CODE + k,
			};
		index = elf_builder_add(&builder, ".rela.dyn", SHT_RELA, SHF_ALLOC, entries,
					sizeof(entries));
		dynamic[0] = (Elf64_Dyn){ DT_RELA, { builder.sections[index].sh_addr } };
		dynamic[1] = (Elf64_Dyn){ DT_RELASZ, { sizeof(entries) } };
		index = elf_builder_add(&builder, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, dynamic,
					sizeof(dynamic));
		*built_segment(&builder, 2) = (Elf64_Phdr){
			.p_type = PT_DYNAMIC,
			.p_offset = builder.sections[index].sh_offset,
			.p_filesz = sizeof(dynamic),
			.p_memsz = sizeof(dynamic),
		};
		for (uint32_t k = 0; k < CODE_BYTES / 2; k++)
			expected[k] = CODE + 2 * k + 1;
		expect_pointers(expected, CODE_BYTES / 2);
	}
}

static void what_the_entry_point_passes_on_is_found(void **state)
{
	/* xor ebp,ebp; lea CODE+3(rip),rdi; mov $CODE+5,rsi; call itself */
	static const uint8_t code[] = {
		0x31, 0xed, 0x48, 0x8d, 0x3d, 0xfa, 0xef, 0xff, 0xff, 0x48, 0xc7,
		0xc6, 0x05, 0x10, 0x40, 0,    0xe8, 0,	  0,	0,    0,
	};

	(void)state;
	build(EM_X86_64);
	built_header(&builder)->e_entry = BUILT_ADDRESS + ENTRY;
	memcpy(builder.bytes + ENTRY, code, sizeof(code));
	expect_pointers((const uint64_t[]){ CODE + 3, CODE + 5 }, 2);
	/* At the end of the segment it is cut. */
	built_segment(&builder, 0)->p_filesz = ENTRY + 9;
	expect_pointers((const uint64_t[]){ CODE + 3 }, 1);
	build(EM_AARCH64);
	built_header(&builder)->e_entry = BUILT_ADDRESS + ENTRY;
	memcpy(builder.bytes + ENTRY, code, sizeof(code));
	expect_pointers(NULL, 0);
}

static void code_with_tables_shows_starts(void **state)
{
	/* call CODE; lea CODE+3(rip),rax; jmp CODE+5; je CODE+7; then, without a table, call CODE+9 */
	static const uint8_t code[] = {
		0xe8, 0xfb, 0xef, 0xff, 0xff, 0x48, 0x8d, 0x05, 0xf7, 0xef, 0xff, 0xff, 0xe9, 0xf4,
		0xef, 0xff, 0xff, 0x0f, 0x84, 0xf0, 0xef, 0xff, 0xff, 0xe8, 0xed, 0xef, 0xff, 0xff,
	};
	static const uint64_t expected[] = { CODE, CODE + 3, CODE + 5 };
	struct fde_record fde = { .start = ENTRY, .length = sizeof(code) - 5 };
	struct fde_table table = { .base = BUILT_ADDRESS, .fdes = { .items = &fde, .count = 1 } };
	struct bare_code bare = { .ranges = &range, .range_count = 1 };
	struct elf_image image;

	(void)state;
	build(EM_X86_64);
	memcpy(builder.bytes + ENTRY, code, sizeof(code));
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(code_pointers_add_starts(&image, &table, &bare), 0);
	assert_int_equal(bare.starts.count, 3);
	assert_memory_equal(bare.starts.items, expected, sizeof(expected));
	/* An FDE may be for addresses that the file does not have. */
	fde.start = 0x100000;
	assert_int_equal(code_pointers_add_starts(&image, &table, &bare), 0);
	fde.start = DATA - 2;
	assert_int_equal(code_pointers_add_starts(&image, &table, &bare), 0);
	assert_int_equal(bare.starts.count, 3);
	address_vector_deinit(&bare.starts);
	elf_image_deinit(&image);
}

/* The start that the function of @size bytes at @address shows; 0: none. */
static uint64_t find_start(uint64_t address, size_t size)
{
	struct fde_record fde = { .start = address - BUILT_ADDRESS, .length = size };
	struct fde_table table = { .base = BUILT_ADDRESS, .fdes = { .items = &fde, .count = 1 } };
	struct bare_code bare = { .ranges = &range, .range_count = 1 };
	struct elf_image image;
	uint64_t start = 0;

	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(code_pointers_add_starts(&image, &table, &bare), 0);
	assert_in_range(bare.starts.count, 0, 1);
	if (bare.starts.count)
		start = bare.starts.items[0];
	address_vector_deinit(&bare.starts);
	elf_image_deinit(&image);
	return start;
}

static void every_instruction_that_leads_to_code_is_found(void **state)
{
	enum { BEFORE_MAX = 70 };
	static const struct {
		uint8_t bytes[12];
		uint8_t size;
		bool is_relative;
	} instructions[] = {
		/* call, jmp, rex.w call, bnd jmp, lea with each REX */
		{ { 0xe8 }, 5, true },
		{ { 0xe9 }, 5, true },
		{ { 0x48, 0xe8 }, 6, true },
		{ { 0xf2, 0xe9 }, 6, true },
		{ { 0x48, 0x8d, 0x05 }, 7, true },
		{ { 0x4c, 0x8d, 0x3d }, 7, true },
		/* push, mov to edi and r9d, movq to rax, (rax), 1(rax), (rax,rax), 1(rax,rax), and with displacements of 4 bytes */
		{ { 0x68 }, 5, false },
		{ { 0xbf }, 5, false },
		{ { 0x41, 0xb9 }, 6, false },
		{ { 0x48, 0xc7, 0xc0 }, 7, false },
		{ { 0xc7, 0x00 }, 6, false },
		{ { 0x48, 0xc7, 0x40, 0x01 }, 8, false },
		{ { 0x48, 0xc7, 0x04, 0x00 }, 8, false },
		{ { 0x48, 0xc7, 0x44, 0x00, 0x01 }, 9, false },
		{ { 0x48, 0xc7, 0x80, 1, 0, 0, 0 }, 11, false },
		{ { 0x48, 0xc7, 0x84, 0x00, 1, 0, 0, 0 }, 12, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		size_t size = instructions[i].size;

		/* Behind no-ops, and with one byte in the function or all. */
		for (size_t before = 0; before < BEFORE_MAX; before += 23) {
			uint64_t address = BUILT_ADDRESS + ENTRY + before;
			uint32_t number = CODE + 0x42;
			uint8_t *at = builder.bytes + ENTRY + before;

			build(EM_X86_64);
			memset(builder.bytes + ENTRY, 0x90, before);
			memcpy(at, instructions[i].bytes, size);
			if (instructions[i].is_relative)
				number -= address + size;
			memcpy(at + size - sizeof(number), &number, sizeof(number));
			assert_int_equal(find_start(BUILT_ADDRESS + ENTRY, before + size),
					 CODE + 0x42);
			assert_int_equal(find_start(BUILT_ADDRESS + ENTRY, before + 1),
					 CODE + 0x42);
			/* At the very end of the segment. */
			built_segment(&builder, 0)->p_filesz = ENTRY + before + size;
			assert_int_equal(find_start(BUILT_ADDRESS + ENTRY, before + size),
					 CODE + 0x42);
		}
	}
}

static void short_jumps_to_code_nearby_are_found(void **state)
{
	(void)state;
	build(EM_X86_64);
	memset(builder.bytes + 0x1000 - 0x80, 0x90, 0x200);
	/* jmp .+129, the farthest, from before the code; and jmp .-126, from behind it. */
	memcpy(builder.bytes + 0x1000 - 0x80, (uint8_t[]){ 0xeb, 0x7f }, 2);
	assert_int_equal(find_start(CODE - 0x80, 2), CODE + 1);
	memcpy(builder.bytes + 0x1000 + CODE_BYTES + 0x7d, (uint8_t[]){ 0xeb, 0x80 }, 2);
	assert_int_equal(find_start(CODE + CODE_BYTES + 0x7d, 2), CODE + CODE_BYTES - 1);
	assert_int_equal(find_start(CODE + CODE_BYTES + 0x70, 15), CODE + CODE_BYTES - 1);
}

/* That is seen by the bytes, which are not decoded. */
static void functions_that_lead_nowhere_are_skipped(void **state)
{
	enum { FUNCTION_BYTES = 0x100 };
	/* Calls of itself, of the byte behind the code, and of the code. */
	static const struct {
		uint64_t target;
		bool is_decoded;
	} calls[] = {
		{ BUILT_ADDRESS + ENTRY, false }, { CODE - 1, false },		{ CODE, true },
		{ CODE + CODE_BYTES - 1, true },  { CODE + CODE_BYTES, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct fde_record fde = { .start = ENTRY, .length = FUNCTION_BYTES };
		struct fde_table table = { .base = BUILT_ADDRESS,
					   .fdes = { .items = &fde, .count = 1 } };
		struct bare_code bare = { .ranges = &range, .range_count = 1 };
		uint32_t number = calls[i].target - (BUILT_ADDRESS + ENTRY + 0x80 + 5);
		struct elf_image image;

		build(EM_X86_64);
		memset(builder.bytes + ENTRY, 0x90, FUNCTION_BYTES);
		builder.bytes[ENTRY + 0x80] = 0xe8;
		memcpy(builder.bytes + ENTRY + 0x81, &number, sizeof(number));
		assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
		assert_int_equal(code_pointers_add_starts(&image, &table, &bare), 0);
		assert_int_equal(bare.starts.count, calls[i].is_decoded);
		assert_int_equal(bare.searched_bytes, FUNCTION_BYTES);
		assert_int_equal(bare.decoded_bytes, calls[i].is_decoded ? FUNCTION_BYTES : 0);
		address_vector_deinit(&bare.starts);
		elf_image_deinit(&image);
	}
}

/* The file is read in parts of 64 KB. */
static void functions_are_read_in_parts(void **state)
{
	enum { TEXT_BYTES = 0x30000, PART_BYTES = 0x10000 };
	static uint8_t text[TEXT_BYTES];
	struct elf_segment segment = { .type = PT_LOAD,
				       .flags = PF_R | PF_X,
				       .address = CODE + CODE_BYTES,
				       .file_bytes = TEXT_BYTES,
				       .memory_bytes = TEXT_BYTES };
	struct elf_image image = { .fd = -1,
				   .machine = EM_X86_64,
				   .memory = text,
				   .size = TEXT_BYTES,
				   .segments = &segment,
				   .segment_count = 1 };
	/* Far from the code, and from the end of the segment. */
	struct fde_record fde = { .start = CODE_BYTES + 0x1000, .length = TEXT_BYTES - 0x2000 };
	struct fde_table table = { .base = CODE, .fdes = { .items = &fde, .count = 1 } };

	(void)state;
	for (int32_t at = PART_BYTES - 40; at < PART_BYTES + 40; at++) {
		struct bare_code bare = { .ranges = &range, .range_count = 1 };
		int32_t offset = 0x1000 + at, number = 7 - (CODE_BYTES + offset + 5);

		memset(text, 0x90, sizeof(text));
		text[offset] = 0xe8;
		memcpy(text + offset + 1, &number, sizeof(number));
		assert_int_equal(code_pointers_add_starts(&image, &table, &bare), 0);
		assert_int_equal(bare.starts.count, 1);
		assert_int_equal(bare.starts.items[0], CODE + 7);
		address_vector_deinit(&bare.starts);
	}
}

static void files_without_bare_code_have_none(void **state)
{
	struct bare_code code = { 0 };
	struct elf_image image;

	(void)state;
	build(EM_X86_64);
	put_word(DATA, CODE);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(code_pointers_read(&image, &code), 0);
	assert_int_equal(code.pointers.count, 0);
	elf_image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_data_are_found),
		cmocka_unit_test(relative_relocations_are_found),
		cmocka_unit_test(what_the_entry_point_passes_on_is_found),
		cmocka_unit_test(code_with_tables_shows_starts),
		cmocka_unit_test(every_instruction_that_leads_to_code_is_found),
		cmocka_unit_test(short_jumps_to_code_nearby_are_found),
		cmocka_unit_test(functions_that_lead_nowhere_are_skipped),
		cmocka_unit_test(functions_are_read_in_parts),
		cmocka_unit_test(files_without_bare_code_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
