/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a table that is made here, and those of this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "lib/elf/elf_symbols.h"
#include "lib/elf/function_start.h"
#include "lib/elf/tests/elf_builder.h"

enum {
	TABLE_OFFSET = 0x1000,
	FDES_OFFSET = 0x1100,
	FDE_BYTES = 32,
	FUNCTIONS = 3,
	/* Functions of 0x20 bytes, each 0x100 behind the one before. */
	TEXT_OFFSET = 0x2000,
};

struct made {
	struct elf_builder builder;
	struct elf_image image;
};

static uint32_t *word(struct made *made, uint32_t offset)
{
	return (uint32_t *)(made->builder.bytes + offset);
}

static void make(struct made *made)
{
	elf_builder_init(&made->builder, 2);
	*built_segment(&made->builder, 1) = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
							  .p_offset = TABLE_OFFSET,
							  .p_vaddr = BUILT_ADDRESS + TABLE_OFFSET,
							  .p_filesz = 64,
							  .p_memsz = 64 };
	memcpy(made->builder.bytes + TABLE_OFFSET, "\x01\x1b\x03\x3b", 4);
	*word(made, TABLE_OFFSET + 8) = FUNCTIONS;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t fde = FDES_OFFSET + i * FDE_BYTES, start = TEXT_OFFSET + i * 0x100;

		*word(made, TABLE_OFFSET + 12 + 8 * i) = start - TABLE_OFFSET;
		*word(made, TABLE_OFFSET + 16 + 8 * i) = fde - TABLE_OFFSET;
		*word(made, fde) = FDE_BYTES - 4;
		*word(made, fde + 8) = start - (fde + 8);
		*word(made, fde + 12) = 0x20;
	}
	assert_int_equal(elf_image_init_memory(&made->image, made->builder.bytes, BUILT_BYTES), 0);
}

/* Its offset; 0 if there is none, which must be for @error. */
static uint64_t start_of(const struct made *made, uint32_t offset, int error)
{
	uint64_t start = BUILT_ADDRESS;

	assert_int_equal(function_start(&made->image, BUILT_ADDRESS + offset, &start), error);
	return start - BUILT_ADDRESS;
}

static void each_address_of_a_function_leads_to_its_start(void **state)
{
	struct made made;

	(void)state;
	make(&made);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint32_t start = TEXT_OFFSET + i * 0x100;

		assert_int_equal(start_of(&made, start, 0), start);
		assert_int_equal(start_of(&made, start + 0x1f, 0), start);
		assert_int_equal(start_of(&made, start + 0x20, -ENOENT), 0);
	}
	assert_int_equal(start_of(&made, TEXT_OFFSET - 1, -ENOENT), 0);
	elf_image_deinit(&made.image);
}

static void what_is_not_as_linkers_write_it_is_refused(void **state)
{
	struct made made;

	(void)state;
	for (uint32_t byte = 0; byte < 4; byte++) {
		make(&made);
		made.builder.bytes[TABLE_OFFSET + byte] ^= 0x0c;
		start_of(&made, TEXT_OFFSET, -EOPNOTSUPP);
		elf_image_deinit(&made.image);
	}
	make(&made);
	*word(&made, FDES_OFFSET + 8) += 1;
	start_of(&made, TEXT_OFFSET, -EOPNOTSUPP);
	start_of(&made, TEXT_OFFSET + 0x100, 0);
	*word(&made, TABLE_OFFSET + 16) = 0x7fffffff;
	start_of(&made, TEXT_OFFSET, -EBADMSG);
	*word(&made, TABLE_OFFSET + 8) = 1 << 20;
	start_of(&made, TEXT_OFFSET, -EBADMSG);
	*word(&made, TABLE_OFFSET + 8) = 0;
	start_of(&made, TEXT_OFFSET, -ENOENT);
	built_segment(&made.builder, 1)->p_type = PT_NULL;
	elf_image_deinit(&made.image);
	assert_int_equal(elf_image_init_memory(&made.image, made.builder.bytes, BUILT_BYTES), 0);
	start_of(&made, TEXT_OFFSET, -ENOENT);
	elf_image_deinit(&made.image);
}

static void starts_come_in_ascending_order(void **state)
{
	struct function_starts starts;
	struct made made;

	(void)state;
	make(&made);
	assert_int_equal(function_starts_init(&starts, &made.image), 0);
	assert_int_equal(function_starts_above(&starts, 0), BUILT_ADDRESS + TEXT_OFFSET);
	/* The same again. */
	assert_int_equal(function_starts_above(&starts, BUILT_ADDRESS + TEXT_OFFSET - 1),
			 BUILT_ADDRESS + TEXT_OFFSET);
	assert_int_equal(function_starts_above(&starts, BUILT_ADDRESS + TEXT_OFFSET),
			 BUILT_ADDRESS + TEXT_OFFSET + 0x100);
	assert_int_equal(function_starts_above(&starts, BUILT_ADDRESS + TEXT_OFFSET + 0x1ff),
			 BUILT_ADDRESS + TEXT_OFFSET + 0x200);
	assert_int_equal(function_starts_above(&starts, BUILT_ADDRESS + TEXT_OFFSET + 0x200),
			 UINT64_MAX);
	assert_int_equal(function_starts_above(&starts, UINT64_MAX), UINT64_MAX);
	/* The table is longer than the file. */
	*word(&made, TABLE_OFFSET + 8) = 1 << 20;
	assert_int_equal(function_starts_init(&starts, &made.image), 0);
	assert_int_equal(function_starts_above(&starts, UINT64_MAX), UINT64_MAX);
	made.builder.bytes[TABLE_OFFSET] ^= 0x0c;
	assert_int_equal(function_starts_init(&starts, &made.image), -EOPNOTSUPP);
	elf_image_deinit(&made.image);
}

/* Its table has more than one chunk. */
static void all_starts_of_this_program_come(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct function_starts starts;
	struct elf_image image;
	uint64_t last = 0, start, found;
	uint32_t count = 0;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(function_starts_init(&starts, &image), 0);
	assert_true(starts.count > FUNCTION_STARTS_CHUNK);
	while ((start = function_starts_above(&starts, last)) != UINT64_MAX) {
		assert_true(start > last);
		/* The PLT's FDE may be of another kind. */
		if (!function_start(&image, start, &found))
			assert_int_equal(found, start);
		last = start;
		count++;
	}
	assert_true(count > FUNCTION_STARTS_CHUNK);
	elf_image_deinit(&image);
	close(fd);
}

/* As in static programs. */
static void without_a_table_starts_are_the_same(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image image, without;
	struct elf_symbols symbols;
	uint32_t found = 0;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(elf_image_init_fd(&without, fd), 0);
	for (uint32_t i = 0; i < without.segment_count; i++)
		if (without.segments[i].type == PT_GNU_EH_FRAME)
			without.segments[i].type = PT_NULL;
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	for (uint32_t i = 0; i < symbols.count; i++) {
		uint64_t address = symbols.symbols[i].address + symbols.symbols[i].size / 2;
		uint64_t start = 1, expected = 1;
		int error = function_start(&image, address, &expected);

		assert_int_equal(function_start(&without, address, &start), error);
		assert_int_equal(start, expected);
		found += !error;
	}
	assert_true(found > 50);
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&without);
	elf_image_deinit(&image);
	close(fd);
}

static void functions_of_this_program_begin_at_their_symbols(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_symbols symbols;
	struct elf_image image;
	uint32_t found = 0;
	uint64_t start;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(elf_symbols_init(&symbols, &image), 0);
	for (uint32_t i = 0; i < symbols.count; i++) {
		const struct elf_symbol *symbol = &symbols.symbols[i];

		if (!symbol->size ||
		    function_start(&image, symbol->address + symbol->size - 1, &start))
			continue;
		/* FDEs of assembly code may cover less than a symbol. */
		assert_true(start >= symbol->address || symbol->rank);
		found += start == symbol->address;
	}
	assert_true(found > 50);
	elf_symbols_deinit(&symbols);
	elf_image_deinit(&image);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_of_a_function_leads_to_its_start),
		cmocka_unit_test(what_is_not_as_linkers_write_it_is_refused),
		cmocka_unit_test(starts_come_in_ascending_order),
		cmocka_unit_test(all_starts_of_this_program_come),
		cmocka_unit_test(without_a_table_starts_are_the_same),
		cmocka_unit_test(functions_of_this_program_begin_at_their_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
